/** Lines that only source code has: imports, exports and declarations of packages and types. */
const DECLARATION =
  /^[ \t]*(?:import[ \t]+(?:type[ \t]+)?(?:[\w*{$][^'"\n]{0,400}[ \t}]from[ \t]*)?['"][^'"\n]+['"];?[ \t]*$|\}[ \t]*from[ \t]*['"][^'"\n]+['"];?[ \t]*$|export[ \t]+(?:default|declare|const|let|var|function|class|type|interface|async|abstract|enum|namespace|\{|\*)|(?:declare[ \t]+)?(?:module|namespace|global)[ \t]+['"\w.]+[ \t]*\{|(?:const|let|var)[ \t]+[\w${][^=\n]{0,200}=[ \t]*(?:await[ \t]+)?(?:require|import)\(|module\.exports\b|package[ \t]+[\w.]+;|import[ \t]+(?:static[ \t]+)?[\w.]+(?:\.\*)?;|using[ \t]+[\w.]+;|#include[ \t]*[<"]|(?:public|private|protected|final|abstract|static|sealed)[ \t]+(?:[\w<>[\],?]+[ \t]+){0,4}(?:class|interface|enum|record)[ \t]+\w|from[ \t]+[\w.]+[ \t]+import[ \t]|<\?php\b)/m
/** The blocks of a component file, each tag at the margin and alone on its line, so that prose cannot contain them by chance. */
const BLOCKS = /^<(template|script|style)(?:[ \t][^<>\n]*)?>[ \t]*\r?\n/gm

/** A line of prose: words and their punctuation, without any sign of code. */
const SENTENCE = /^[\p{L}"'(*-][\p{L}\p{N}\p{M}\s'’"“”(),:.!?*–—-]*$/u
const COMMENT = /^(?:\/\/|\/\*|\*|#|--|<!--|\{\/\*)/
const CODE_END = /(?:[{};,([<>=|&:]|=>|\)|["'`])$/

const FEWEST_LINES = 3
const MOST_PROSE = 0.34

/**
 * Whether a text is a source file that was pasted where prose is expected. It is then code like the text of a fence: it keeps its markup,
 * and every view escapes it. A single line, or prose with a few lines of code, is none.
 */
export function isSourceText(text: string): boolean {
  return isComponent(text) || (DECLARATION.test(text) && isMainlyCode(text))
}

function isMainlyCode(text: string): boolean {
  let lines = 0
  let code = 0
  let prose = 0
  for (const raw of text.split('\n')) {
    const line = raw.trim()
    if (line === '' || COMMENT.test(line)) continue
    lines += 1
    if (CODE_END.test(line)) code += 1
    else if (line.includes(' ') && SENTENCE.test(line)) prose += 1
  }
  return lines >= FEWEST_LINES && code >= lines * 0.4 && prose <= lines * MOST_PROSE
}

/** A component file of Vue or Svelte: nothing but comments is outside of its blocks. */
function isComponent(text: string): boolean {
  if (!text.includes('\n</script>') && !text.includes('\n</template>')) return false
  let position = 0
  let blocks = 0
  BLOCKS.lastIndex = 0
  for (let match = BLOCKS.exec(text); match; match = BLOCKS.exec(text)) {
    if (!isOnlyComments(text.slice(position, match.index))) return false
    const closing = `\n</${match[1] ?? ''}>`
    const end = text.indexOf(closing, match.index)
    if (end < 0) return false
    position = end + closing.length
    BLOCKS.lastIndex = position
    blocks += 1
  }
  return blocks >= 2 && isOnlyComments(text.slice(position))
}

const isOnlyComments = (text: string): boolean => {
  const rest = text.trim()
  return rest === '' || (rest.startsWith('<!--') && rest.indexOf('-->') === rest.length - 3)
}
