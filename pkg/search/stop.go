package search

// isStopWord reports whether a folded word says nothing about which tool is meant: function
// words, and the polite frame of a request. Such words are ignored unless a query has no others.
func isStopWord(w string) bool {
	switch w {
	case "a", "an", "the", "this", "that", "these", "those", "it", "its", "itself",
		"i", "me", "my", "mine", "myself", "we", "us", "our", "ours", "you", "your", "yours",
		"he", "him", "his", "she", "her", "they", "them", "their", "one", "some", "any", "all", "each", "every",
		"and", "or", "but", "nor", "so", "than", "then", "as", "if", "else", "because", "while", "also", "too", "either",
		"of", "at", "by", "for", "with", "about", "into", "to", "from", "in", "on", "off", "onto", "out", "via", "per", "within", "upon", "over", "under",
		"is", "are", "was", "were", "be", "been", "being", "am", "do", "does", "did", "doing", "done",
		"have", "has", "had", "having", "can", "could", "would", "should", "shall", "will", "may", "might", "must",
		"what", "which", "who", "whom", "whose", "when", "where", "why", "how", "there", "here",
		"not", "no", "only", "just", "very", "more", "most", "such", "same", "other", "own",
		"want", "wanna", "need", "needs", "like", "please", "help", "let", "lets", "im", "ive", "id", "dont", "cant", "etc", "eg", "ie",
		"using", "use", "used", "tool", "tools", "able", "way", "something", "anything", "give", "tell", "show":
		return true
	}
	return false
}
