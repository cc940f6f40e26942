import compile from 'icu-minify/compile'

/**
 * Parses all messages, so that no page has to contain the parser of ICU messages: `next.config.mjs` replaces next-intl's formatter with the
 * one for parsed messages. The type remains that of the texts, which next-intl derives the placeholders from.
 */
export function compiled<M extends object>(messages: M): M {
  const parsed = JSON.parse(JSON.stringify(messages), (_, value) =>
    typeof value === 'string' ? compile(value) : value,
  )
  // The compiler creates objects without a prototype, which React does not send to the browser.
  return JSON.parse(JSON.stringify(parsed))
}
