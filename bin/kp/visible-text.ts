/**
 * Characters that act instead of showing: C0 and C1 controls, format characters (the bidi controls among them), line and paragraph
 * separators, lone surrogates. ZWNJ and ZWJ stay: Persian, Hindi and emoji are written with them.
 */
const acting = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

const escaped = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
  ).join('')

function shown(character: string): string {
  const code = character.charCodeAt(0)
  if (code < 0x20) return String.fromCharCode(0x2400 + code) // Unicode's control pictures: ESC is ␛
  return code === 0x7f ? '\u2421' : escaped(character)
}

/** One line in which nothing acts on the terminal: what would is shown as ␛ or \u202e. */
export const visible = (text: string): string => text.replace(acting, shown)

/** As {@link visible}, and line ends stay. */
export const visibleLines = (text: string): string => text.split('\n').map(visible).join('\n')

/** JSON that is equal and holds no acting character, inside strings or out, but the line ends of its layout. */
export const jsonText = (value: unknown, indent = 2): string => escapedJson(JSON.stringify(value, null, indent))

/** JSON text, one document or one a line, with the same values and no acting character. */
export const escapedJson = (text: string): string =>
  text.replace(acting, (character) => (character === '\n' ? character : escaped(character)))
