/** Tags within words are read as gaps, because tags in code are kept. */
const TAG = /<\/?[a-z][^<>]{0,200}>/g
/** The beginning of a comment line: `# ignore`, `// previous`, `-- rules`. */
const COMMENT_LINE = /(?<=\n)[ \t]{0,40}(?:#{1,6}|\/{2,3}|--|;{1,2}|%{1,2}|\*|\||rem(?=[ \t]))[ \t|]{0,40}/g
/** A dot or another sign between letters in place of a space. */
const JOINT = /(?<=\p{L})(?:[.\u00b7\u2022\u2027\u30fb~|+,]{1,3}|\u2026| [-\u2013\u2014.\u00b7|/] )(?=\p{L})/gu

const blank = (found: string): string => ' '.repeat(found.length)

/** A copy of the same length in which comment signs at the beginning of lines and signs in place of spaces are blanks. */
export const withoutSigns = (copy: string): string => copy.replace(COMMENT_LINE, blank).replace(JOINT, blank)

/**
 * Copies of the same length in which disguises are blanks: tags within words, comment signs at the beginning of lines, signs in place of
 * spaces. Only those that differ from `copy`.
 */
export function undisguised(copy: string): string[] {
  const withoutTags = copy.replace(TAG, blank)
  return [...new Set([withoutTags, withoutSigns(copy)])].filter((variant) => variant !== copy)
}
