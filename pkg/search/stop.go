package search

// isStopWord reports whether a folded word says nothing about the wanted tool: function words, and the polite frame
// of a request. A query ignores such words unless it has no others.
func isStopWord(w string) bool {
	switch w {
	case "a", "an", "the", "this", "that", "these", "those", "it", "its", "itself",
		"i", "me", "my", "mine", "myself", "we", "us", "our", "ours", "you", "your", "yours",
		"he", "him", "his", "she", "her", "they", "them", "their", "one", "some", "any", "all", "each", "every",
		"and", "or", "but", "nor", "so", "than", "then", "as", "if", "else", "because", "while", "also", "too", "either",
		"of", "at", "by", "for", "with", "about", "into", "to", "from", "in", "on", "off", "onto", "out", "via", "per",
		"within", "upon", "over", "under",
		"is", "are", "was", "were", "be", "been", "being", "am", "do", "does", "did", "doing", "done",
		"have", "has", "had", "having", "can", "could", "would", "should", "shall", "will", "may", "might", "must",
		"what", "which", "who", "whom", "whose", "when", "where", "why", "how", "there", "here",
		"not", "no", "only", "just", "very", "more", "most", "such", "same", "other", "own",
		"want", "wanna", "need", "needs", "like", "please", "help", "let", "lets", "im", "ive", "id", "dont", "cant",
		"etc", "eg", "ie",
		"using", "use", "used", "tool", "tools", "able", "way", "something", "anything", "give", "tell", "show":
		return true
	}
	return false
}

// isWeakWord reports whether a folded word says little about the wanted tool. Such words are common in requests and
// rare in descriptions, so that their rarity in a catalogue overstates them.
func isWeakWord(w string) bool {
	switch w {
	case "already", "existing", "exists", "exist", "specific", "particular", "certain", "given", "specified",
		"following", "based",
		"new", "entire", "whole", "full", "complete", "completely", "everything", "another", "various", "several",
		"multiple",
		"different", "available", "possible", "current", "currently", "detailed", "details", "detail", "information",
		"info",
		"data", "related", "relevant", "including", "include", "contained", "inside", "between", "through", "against",
		"before", "after", "during", "without", "across", "around", "quick", "quickly", "easily", "simple", "exactly",
		"permanently", "together", "once", "handful", "few", "two", "three", "first", "last", "next", "good", "best",
		"right",
		"make", "sure", "know", "see", "look", "looking", "take", "think", "thing", "things", "item", "stored",
		"still", "up", "down",
		"back", "again", "main", "name", "named", "called", "return", "result", "results", "provide", "provided", "ability",
		"capabilities", "capability", "functionality", "operations", "operation", "perform", "interested",
		"hi", "hello", "hey", "thanks", "thank", "kindly", "really", "now", "recently", "today":
		return true
	}
	return false
}
