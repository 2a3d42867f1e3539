# bash completion for idemsvc: source <(idemsvc completion bash)
_idemsvc() {
	local IFS=$'\n' cur=${COMP_WORDS[COMP_CWORD]} line kind=""
	COMPREPLY=()
	while read -r line; do
		if [ -z "$kind" ]; then
			kind=$line
		else
			COMPREPLY+=("${line%%$'\t'*}")
		fi
	done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
	[ "$cur" = "=" ] && cur=""
	case $kind in
	files)
		compopt -o filenames 2>/dev/null
		COMPREPLY=($(compgen -f -- "$cur"))
		;;
	dirs)
		compopt -o filenames 2>/dev/null
		COMPREPLY=($(compgen -d -- "$cur"))
		;;
	esac
}
complete -F _idemsvc idemsvc
