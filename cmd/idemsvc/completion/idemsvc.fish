# fish completion for idemsvc: idemsvc completion fish | source
function __idemsvc_complete
	set -l words (commandline -opc)
	set -l current (commandline -ct)
	set -l flag (string match -r -- '^--[^=]*=' "$current")
	set -l value (string replace -r -- '^--[^=]*=' '' "$current")
	set -l found ($words[1] __complete $words[2..-1] "$current" 2>/dev/null)
	switch "$found[1]"
		case files
			for path in (__fish_complete_path "$value")
				printf '%s\n' "$flag$path"
			end
		case dirs
			for path in (__fish_complete_directories "$value")
				printf '%s\n' "$flag$path"
			end
		case words
			test (count $found) -gt 1; and printf '%s\n' $found[2..-1]
	end
end
complete -c idemsvc -f -a '(__idemsvc_complete)'
