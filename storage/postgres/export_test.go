package postgres

// Statements are the texts of all statements, by the name of their file.
func Statements() map[string]string {
	return map[string]string{
		"begin": sqlBegin, "begin_tuned": sqlBeginTuned, "first": sqlFirst, "step": sqlStep, "apply": sqlApply, "place": sqlPlace, "place_effects": sqlPlaceEffects,
		"payload": sqlPayload, "sources": sqlSources, "granted": sqlGranted, "read_events": sqlReadEvents, "read_owners": sqlReadOwners,
		"read_resources": sqlReadResources, "read_effects": sqlReadEffects, "read_attempts": sqlReadAttempts, "read_members": sqlReadMembers,
		"epoch": sqlEpoch, "moved": sqlMoved, "halt": sqlHalt, "follow": sqlFollow, "follow_lock": sqlFollowLock, "sweep": sqlSweep, "deliveries": sqlDeliveries, "rejected": sqlRejected,
		"find_ref": sqlFindRef, "find_term": sqlFindTerm, "find_unfinished": sqlFindUnfinished, "find_deliveries": sqlFindDeliveries,
		"find_names": sqlFindNames, "info": sqlInfo,
	}
}
