/**
 * Words that speak about a text rather than give an order, in the languages whose orders are recognized. They make a quoted order a
 * quotation.
 */
const ABOUT =
  /(?<![\p{L}\p{N}_])(?:says?|said|saying|states?|reads?|contains?|containing|includes?|including|like|such as|e\.g|examples?|for instance|phrases?|strings?|wording|texts?|attempts?|attacks?|injections?|injected|jailbreaks?|malicious|suspicious|hostile|detects?|detection|refuses?|refused|rejects?|rejected|flags?|reports?|blocks?|blocked|filters?|match(?:es)?|patterns?|tells?|asks?|instructs?|claims?|pretends?|quote[sd]?|called|named|titled|treat|tests?|payloads?|adversarial|untrusted|if (?:a|an|the|any|some|one)|when (?:a|an|the|any|some|one)|whenever|tricks?|means?|dice|contiene|por ejemplo|si un|frases?|dit|contient|par exemple|sagt|enthalt|zum beispiel|wenn|satze|diz|contem|exemplo|se um)(?![\p{L}\p{N}_])|говорит|содержит|если|например|фраз|说|寫|写|包含|比如|例如|如果|諸如|诸如|例えば|という|もし|예를|만약|라는|같은|إذا|مثل|يقول|عبارة/u
/** A word that names the following text as an attack, before a colon. */
const NAMED =
  /\b(?:injections?|attacks?|jailbreaks?|malicious|payloads?|adversarial|hostile)\b[^\n.!?]{0,60}:\s*[^\n.!?]{0,20}$/
/** Another text or person gives the order: "the page tells you to …". The first person gives it itself. */
const REPORTED =
  /(?:\b(?:tells|told|telling|asks|asked|asking|instructs|instructed|instructing|orders|ordered|ordering|tries|tried|trying|attempts?|attempted|attempting|wants|wanted|claims|tricks|tricked|tricking|convinces|convincing|persuades|causes|causing|forces|makes|manipulates|requests?|instructions?|commands?|ways?)\s+(?:(?:you|it|them|us|the|a|an|any|its|llms?|models?|agents?|assistants?|ai|claude|chatgpt|system|reader|users?)\s+){0,4}(?:to\s+|into\s+)?|\b(?:that|which|who|they|it|models?|agents?|llms?|users?|people|attackers?|documents?|pages?)\s+(?:(?:can|may|might|could|would|will|often|sometimes|simply|also|then|always|try to|tries to)\s+){0,3})$/
const FIRST_PERSON = /\b(?:i|we)(?:'m|'re|'ve|\s+am|\s+are|\s+have)?\s+(?:\w+\s+){0,4}$/
const NEGATED =
  /\b(?:never|not|don't|dont|doesn't|cannot|can't|won't|mustn't|shouldn't|without|avoid|refuses?\s+to)\s+(?:(?:ever|simply|just|blindly|to)\s+)?$/
/** An option or command with its meaning, in a table or a list: `| --fresh | … |`, `--fresh  …`, `- /clear: …`. */
const OPTION =
  /^[ \t|]{0,12}(?:[*+-][ \t]{1,8})?[`*"'|]{0,4}(?:--?[a-z][\w-]*|\/[a-z][\w-]*|(?:ctrl|cmd|alt)[+-]\w+)[^\n]{0,80}?(?:\||[ \t]{2,}|[:–—-][ \t]|[`*"']{1,3}[ \t])[^\n]{0,60}$/
/** A setting that has precedence over another one: "local values override earlier rules". */
const PRECEDENCE =
  /\b(?:rules?|settings?|instructions?|values?|flags?|options?|files?|arguments?|guidelines|preferences|requests|decisions|entries|sections?|these|those|latter|ones|configs?|configurations?|policies|prompts)\s+(?:(?:always|can|may|will|should|also|then)\s+){0,2}$/

const REACH = 200
const OPENING = /(?:["`«‹「『（(“”]|(?<![\p{L}\p{N}])')([^"`«»‹›「」『』“”\n]{0,60})$/u
const CLOSING = /["`»›」』）)”“]|'(?![\p{L}\p{N}])/u

export type Speech = 'order' | 'quotation' | 'none'

/**
 * Whether the words from `start` to `end` of a lower-case text are an order, a quotation or description of one, or none because they are
 * negated. Reads a bounded part of the paragraph around them.
 */
export function speechAt(text: string, start: number, end: number): Speech {
  const head = headOf(text, start)
  const line = head.slice(head.lastIndexOf('\n') + 1)
  if (NEGATED.test(line)) return 'none'
  if (REPORTED.test(head) && !FIRST_PERSON.test(line)) return 'quotation'
  if (OPTION.test(line) || NAMED.test(line)) return 'quotation'
  if (/^(?:override|overrule|bypass|supersede)/.test(text.slice(start, start + 10)) && PRECEDENCE.test(line))
    return 'quotation'
  return isQuoted(text, head, end) ? 'quotation' : 'order'
}

/** Whether quotation marks enclose the words, and the sentence around them speaks about them. */
export function isQuoted(text: string, head: string, end: number): boolean {
  const opening = OPENING.exec(head)
  if (!opening) return false
  const tail = text.slice(end, end + REACH)
  const paragraph = tail.search(/\n[ \t]*\n/)
  const after = paragraph < 0 ? tail : tail.slice(0, paragraph)
  const closing = after.search(CLOSING)
  if (closing < 0) return false
  return ABOUT.test(head.slice(0, opening.index)) || ABOUT.test(after.slice(closing + 1, closing + 120))
}

/** The text before `start` in its paragraph, as far as it matters. */
export function headOf(text: string, start: number): string {
  const head = text.slice(Math.max(0, start - REACH), start)
  const paragraph = head.search(/\n[ \t]*\n(?![\s\S]*\n[ \t]*\n)/)
  return paragraph < 0 ? head : head.slice(paragraph + 1)
}
