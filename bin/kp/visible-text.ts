/**
 * Characters that control the terminal instead of being shown: C0 and C1 controls, format characters (including bidi
 * controls), line and paragraph separators, and lone surrogates. ZWNJ and ZWJ are kept for Persian, Hindi and emoji.
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

/** One line without control characters: they are shown as ␛ or \u202e. */
export const visible = (text: string): string => text.replace(acting, shown)

/** Like {@link visible}, but keeps line breaks. */
export const visibleLines = (text: string): string => text.split('\n').map(visible).join('\n')

/** Equivalent JSON without control characters except its line breaks. */
export const jsonText = (value: unknown, indent = 2): string => escapedJson(JSON.stringify(value, null, indent))

/** Equivalent JSON text (one document or JSON Lines) without control characters. */
export const escapedJson = (text: string): string =>
  text.replace(acting, (character) => (character === '\n' ? character : escaped(character)))
