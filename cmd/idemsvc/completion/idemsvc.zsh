#compdef idemsvc
# zsh completion for idemsvc: source <(idemsvc completion zsh)
_idemsvc() {
	local -a lines found
	local line kind
	lines=("${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	kind=${lines[1]}
	case $kind in
	files | dirs)
		compset -P '--*='
		if [[ $kind == files ]]; then _files; else _files -/; fi
		;;
	words)
		for line in "${(@)lines[2,-1]}"; do
			found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
		done
		_describe -V idemsvc found
		;;
	esac
}
if [[ ${funcstack[1]} == _idemsvc ]]; then
	_idemsvc "$@"
else
	compdef _idemsvc idemsvc
fi
