import { undisguised } from './disguises.ts'

/** What a role marker or a change of role means, by the words after it. */
type MarkerDecision = 'refused' | 'doubtful' | 'none'
export type RoleFinding = { start: number; end: number; rule: string; verdict: 'refused' | 'doubtful' }

const BREAKS =
  '(?:ignore|disregard|forget|override|overrule|bypass|neglect|disable|suspend|turn off|switch off|lift|abandon|violate)'
const MANNER =
  '(?:(?:please|now|kindly|immediately|just|simply|then|also|always|first|you (?:must|should|will|shall|can|may))[\\s,]+){0,3}'
const PROTECTIONS =
  '(?:safety|instructions?|rules?|guard\\w*|restrictions?|filters?|polic(?:y|ies)|guidelines?|constraints?|limitations?|safeguards?|protections?|security|alignment|moderation|censorship|ethic\\w*|everything|all|previous|prior|earlier|context|training|programming|directives?|prompts?)'
/** An order against the reader's own instructions: refused wherever it follows a role. */
const STRONG = new RegExp(
  `^${MANNER}(?:${BREAKS}\\s+(?:(?!default)[\\w']+\\s+){0,4}${PROTECTIONS}\\b|(?:obey|comply|jailbreak|unlock)\\b|(?:safety|security|restrictions|filters|guardrails)\\s+(?:(?:is|are)\\s+)?(?:now\\s+)?(?:off|disabled|overridden|suspended|lifted)|(?:override|overriding|bypass)\\b(?=[\\s.!]*$)|(?:ignora|ignorez|ignoriere|oublie|vergiss|olvida|esqueca|desconsidere)\\b)`,
)
/** A description of the reader: "you are …", "your new task …". */
const YOU =
  /^(?:you\s*(?:'re|are|were|must|will|should|shall|have|can|may|need|obey|serve|follow|now|always|never|do not|don't|answer|respond|act|work)\b|your\s+(?:\w+\s+)?(?:task|role|job|goal|name|instructions?|mission|purpose|objective|orders|rules)\b|(?:act|behave|respond|answer|reply)\s+(?:as|like|only|with|in|to)\b|(?:pretend|roleplay|role-play|impersonate|simulate)\b|from now on|henceforth|new (?:instructions?|rules?|role|task|orders?|directives?|priority|policy)\b|(?:do not|don't|never|always)\s+\w+|assume (?:the )?role)/
/** An order to do something with something: "print the secrets". */
const DEED = new RegExp(
  `^${MANNER}(?:${BREAKS}|reveal|leak|expose|exfiltrate|disclose|grant|authorize|escalate|elevate|execute|run|print|output|dump|show|send|email|post|upload|delete|erase|wipe|write|tell|say|give|list|repeat|transfer|approve|enter|activate|enable|switch to|stop|call|hand over|export|forward)\\s+(?:(?:the|all|every|any|your|my|me|us|this|that|these|those|it|them|a|an|out|to|user|system|secret|developer|admin|debug|god|full)\\b|\\w+\\s+(?:mode|secrets?|keys?|passwords?|credentials?|prompts?|files?|data)\\b)`,
)

/** What may stand between a marker and its words: white space, emphasis, quotation marks, brackets, list and comment signs. */
const LEAD = /^[\s*_"'`>[({\\|/#:-]{0,16}/
const AHEAD = 160

type Order = 'strong' | 'you' | 'deed' | undefined
function orderIn(body: string): Order {
  return (
    plainOrderIn(body) ?? undisguised(body).reduce<Order>((known, variant) => known ?? plainOrderIn(variant), undefined)
  )
}
function plainOrderIn(body: string): Order {
  const words = body.replace(LEAD, '')
  if (STRONG.test(words)) return 'strong'
  if (YOU.test(words)) return 'you'
  return DEED.test(words) ? 'deed' : undefined
}

const MARKER =
  /(?<![\p{L}\p{N}_.$@/-])system(?:[ \t_-]{0,2}(message|prompt|note|notice|instructions?|override|alert|command|update|directive))?[ \t]{0,4}[\\"'`*_\])}>]{0,6}[ \t]{0,8}(?::|(?<=[\])][ \t]{0,8})(?=\s))/gu
const QUOTED_ALONE = /^["'`)\]][^\S\n]*(?:\n|$)/
const VALUE = /^\s{0,40}["'`{[]/
/** Nothing but signs and list marks before it in its clause. */
const CLAUSE_START =
  /(?:^|[^\p{L}\p{N}\s\\*_"'`([{<>#]|\n|[.!?:;,)\]}>|—–-]|(?:^|\n)[ \t]*\d{1,3}[.)])[\s\\*_"'`([{<>#-]{0,16}$/u
const HEADING = /(?:^|\n)[ \t>]*#{1,6}[ \t]*$|#{3,6}[ \t]*$/

/** Finds `system:` and its forms. `isCode` says whether a position is in code; positions passed to it do not decrease. */
export function findRoleMarkers(copy: string, isCode: (position: number) => boolean): RoleFinding[] {
  const found: RoleFinding[] = []
  for (const match of copy.matchAll(MARKER)) {
    const start = match.index
    const end = start + match[0].length
    const verdict = decide(copy, start, end, match[1], isCode)
    const isHeading = HEADING.test(copy.slice(Math.max(0, start - 40), start))
    if (verdict !== 'none') found.push({ start, end, rule: isHeading ? 'system-heading' : 'system-role', verdict })
  }
  return found
}

function decide(
  copy: string,
  start: number,
  end: number,
  noun: string | undefined,
  isCode: (position: number) => boolean,
): MarkerDecision {
  const before = copy.slice(Math.max(0, start - 40), start)
  const isHeading = HEADING.test(before)
  const ahead = copy.slice(end, end + AHEAD)
  // A quoted marker without words, or the end of its paragraph.
  const paragraphEnd = isHeading ? -1 : ahead.search(/\n[ \t]*\n/)
  const body = paragraphEnd < 0 ? ahead : ahead.slice(0, paragraphEnd)
  const order = QUOTED_ALONE.test(body) ? undefined : orderIn(body)
  if (order === undefined) {
    const isEmptyHeading = isHeading && /^[\s`~]*$/.test(body) && noun === undefined
    return isEmptyHeading ? 'refused' : 'none'
  }
  if (order === 'strong') return 'refused'
  const isBracketed = copy.slice(start - 1, start) === '[' && /^[ \t]*\]/.test(copy.slice(start + 6, start + 10))
  if (isBracketed && !copy.startsWith(':', end - 1) && CLAUSE_START.test(before))
    return order === 'you' && !isCode(start) ? 'refused' : 'doubtful'
  // "file system: …" names a thing.
  if (!CLAUSE_START.test(before) || !copy.startsWith(':', end - 1)) return 'none'
  if (VALUE.test(body)) return 'none'
  if (isDocumented(copy, start, end)) return order === 'you' ? 'doubtful' : 'none'
  if (isCode(start) || noun === 'prompt' || noun === 'message' || noun?.startsWith('instruction')) return 'doubtful'
  return 'refused'
}

/** A name of a role before its words, also with a dash or an arrow: `system - …`, `Human: …`, `developer > …`. */
const SPEAKER =
  /(?<![\p{L}\p{N}_.$@/-])(?:system|developer|human|user|assistant|model|ai)[ \t]{0,4}[*_"'`)\]]{0,4}[ \t]{0,4}(?::|-{1,2}>?|–|—|=?>|→)[ \t]{1,4}/gu
/** An order against what a model was told. Narrower than {@link STRONG}: guides for developers override rules and disable settings. */
const DEFIANCE =
  /^(?:(?:please|now|immediately|just|also|first)[\s,]+){0,2}(?:(?:ignore|disregard|forget|override|overrule|bypass|neglect)\s+(?:(?!default|eslint|lint|local)\w+\s+){0,3}(?:safety|instructions?|guidelines?|guardrails?|restrictions?|directives?|programming|training|(?:system|previous|prior|earlier|above|initial|original|your|all|safety) (?:rules|prompts?))\b|override\b(?=[\s.!]*$))/

/** Finds lines in which somebody orders the model to defy what it was told. `isCode` as in {@link findRoleMarkers}. */
export function findSpeakers(copy: string, isCode: (position: number) => boolean): RoleFinding[] {
  const found: RoleFinding[] = []
  for (const match of copy.matchAll(SPEAKER)) {
    const start = match.index
    const end = start + match[0].length
    // findRoleMarkers reads this form.
    if (/^system[^-–—>]*:/.test(match[0])) continue
    if (!CLAUSE_START.test(copy.slice(Math.max(0, start - 40), start))) continue
    if (!DEFIANCE.test(copy.slice(end, end + AHEAD).replace(LEAD, ''))) continue
    found.push({ start, end, rule: 'system-role', verdict: isCode(start) ? 'doubtful' : 'refused' })
  }
  return found
}

const ENTRY = /^[ \t]*(?:[-*+>][ \t]+)?["'`*]{0,3}([a-z_][\w-]{0,30})["'`*]{0,3}(?: ?\([^)\n]{0,60}\))?[ \t]*:[ \t]+\S/
const ROLES = /^(?:user|assistant|human|ai|model|system|instructions?|prompt|response|developer|admin|bot|agent|role)$/

/** Whether the lines beside it document or set other names in the same form: arguments of a function, keys of a configuration. */
function isDocumented(copy: string, start: number, end: number): boolean {
  const lineStart = copy.lastIndexOf('\n', start - 1) + 1
  if (start - lineStart > 60 || !/^[ \t]*(?:[-*+>][ \t]+)?["'`*]{0,3}$/.test(copy.slice(lineStart, start))) return false
  const above = copy.slice(Math.max(0, lineStart - 240), Math.max(0, lineStart - 1)).split('\n')
  const next = copy.indexOf('\n', end)
  const below = next < 0 || next - end > 400 ? [] : copy.slice(next + 1, next + 240).split('\n')
  const beside = [...above.slice(-2), ...below.slice(0, 2)]
  return beside.some((line) => {
    const name = ENTRY.exec(line)?.[1]
    return name !== undefined && !ROLES.test(name)
  })
}

const JSON_ROLE =
  /(?<![\p{L}\p{N}_])\\?["'`]?role\\?["'`]?\s{0,4}[:=]\s{0,4}\\?["'`]?(?:system|developer)(?![\p{L}\p{N}_-])\\?["'`]?/gu
const CONTENT =
  /^[\s,]{0,8}\\?["'`]?(?:content|text|message|value|parts)\\?["'`]?\s{0,4}[:=]\s{0,4}(?:\[\s{0,8}\{[^}\n]{0,60}?(?:text|content)\\?["'`]?\s{0,4}:\s{0,4})?/
const QUOTED_NAME = /^\\?["'`]/

/** Finds messages of the role `system` in the JSON of a chat. In code they are ordinary: only an order against instructions is refused. */
export function findMessages(copy: string, isCode: (position: number) => boolean): RoleFinding[] {
  const found: RoleFinding[] = []
  for (const match of copy.matchAll(JSON_ROLE)) {
    const start = match.index
    const end = start + match[0].length
    const tail = copy.slice(end, end + AHEAD)
    const content = CONTENT.exec(tail)
    const order = content ? orderIn(tail.slice(content[0].length)) : undefined
    const isInCode = isCode(start)
    if (!QUOTED_NAME.test(match[0])) {
      // A message in YAML or in the syntax of a programming language is ordinary.
      if (order === 'strong') found.push({ start, end, rule: 'system-role', verdict: 'refused' })
      continue
    }
    if (order === 'strong' || (!isInCode && order !== undefined))
      found.push({ start, end, rule: 'system-role', verdict: 'refused' })
    else if (!isInCode) {
      const isMessage =
        content !== undefined && content !== null
          ? false
          : /^\s*(?:$|\})/.test(tail) || /\{\s*$/.test(copy.slice(Math.max(0, start - 4), start))
      found.push({ start, end, rule: 'system-role', verdict: isMessage ? 'refused' : 'doubtful' })
    }
  }
  return found
}

const SYSTEM_TAG = /<\s{0,4}(?:system|system[_-](?:prompt|message|instructions?|reminder|override|note))\s{0,4}>/g
/** Tags and banners that are ordinary by themselves: only an order against instructions after them is refused. */
const OTHER_SIGN =
  /<\s{0,4}(?:think|thinking|assistant|developer|admin|tool_call|tool_result|tool_response|function_call|instructions?|override)\s{0,4}>|(?:#{2,6}|={2,12}|-{2,12}|\*{2,6}|~{2,12}|<{2,6})[ \t]{0,4}(?:system|developer)(?:[ \t](?:prompt|message|override|instructions?|note))?[ \t]{0,4}(?:#{2,6}|={2,12}|-{2,12}|\*{2,6}|~{2,12}|>{2,6}|(?=\n))|(?<![\p{L}\p{N}_./@])[/@]system(?=[ \t])/gu

/** Finds tags that some models read as the role of the system, before an order. */
export function findSystemTags(copy: string, isCode: (position: number) => boolean): RoleFinding[] {
  const found: RoleFinding[] = []
  for (const match of copy.matchAll(SYSTEM_TAG)) {
    const start = match.index
    const end = start + match[0].length
    const order = orderIn(copy.slice(end, end + AHEAD))
    if (order === undefined) continue
    found.push({
      start,
      end,
      rule: 'system-role',
      verdict: order === 'strong' || !isCode(start) ? 'refused' : 'doubtful',
    })
  }
  return found
}

/** Finds tags and banners that imitate a system message, if an order to ignore the instructions follows them. */
export function findOtherSigns(copy: string): RoleFinding[] {
  const found: RoleFinding[] = []
  for (const match of copy.matchAll(OTHER_SIGN)) {
    const start = match.index
    const end = start + match[0].length
    if (orderIn(copy.slice(end, end + AHEAD)) === 'strong')
      found.push({ start, end, rule: 'system-role', verdict: 'refused' })
  }
  return found
}

const GAP = '[\\s*`"\'>#/.]{1,40}'
const NOW = new RegExp(`(?<![\\p{L}\\p{N}_-])you(?:${GAP}are|'re)${GAP}now(?![\\p{L}\\p{N}_-])`, 'gu')
const NEW_ROLE =
  /^[\s*`"'>:,]{0,8}(?:(?:a|an|the|my|our)\s+(?!(?:\w+\s+)?(?:step|steps|few|bit|lot|little|member|owner|collaborator|contributor|maintainer|subscriber|proud|happy|couple|only|first|last|next)\b)\w|(?:called|named|known as|dan|stan|evil|chaos\w*|\w+gpt|\w+bot|root|admin|administrator|superuser|jailbroken|unrestricted|unbound|unlocked|uncensored|unfiltered|unshackled|liberated|roleplaying|role-playing|pretending|impersonating|simulating|no longer)\b|(?:acting|operating|functioning|speaking|working|playing|serving|answering|responding)\s+(?:as|for|the)\b|in\s+(?:\w+\s+)?(?:developer|debug|god|admin|root|jailbreak|unrestricted|dan|sudo|maintenance|unsafe|evil|opposite)\b|free\b(?!\s+(?:to\s+(?!do|say|answer|respond|act|ignore|generate)|tier|plan))|going\s+to\s+(?:act|be|pretend|roleplay|behave|respond|answer|ignore|simulate|play)\b|to\s+(?:act|be|respond|answer|obey|ignore)\b|(?:not\s+)?bound\b|exempt\b)/
const STATE =
  /^[\s*`"'>:,]{0,8}(?:ready|on|in|at|inside|logged|signed|connected|done|using|running|viewing|set|good|able|equipped|qualified|capable|eligible|entitled|up|finished|familiar|prepared|subscribed|working|looking|here|there|all|seeing|aware|part|redirected|editing|authenticated|registered|safe|welcome|free|going|back|past|almost|halfway|one|left|testing|building|developing|writing|creating|calling|targeting|following|getting|trying|debugging|browsing|tracking|importing|deploying|only|officially|fully|successfully|properly|correctly|technically|being|presented|asked|prompted|with|within|about|under|a|an|the|our|my|far|much|better|more|less|out|over|off|well)\b/
/** A part that people play in an exercise or a story. */
const PART =
  /^\s{1,4}(?:the|my|our|a|an)\s{1,4}(?:new\s{1,4}|next\s{1,4})?(?:customer|client|buyer|seller|shopper|visitor|guest|patient|reader|student|teacher|interviewer|interviewee|candidate|applicant|reviewer|player|narrator|hero|protagonist|caller|owner|user|parent|child|employee|employer|manager|chef|captain|driver|host|audience|listener|speaker|presenter|judge|moderator|facilitator|leader|winner|opponent|recruiter|stakeholder|sponsor)(?![\p{L}\p{N}_-])(?![^.!?\n]{0,80}(?<!\p{L})(?:no|without|any|all|unrestricted|uncensored|ignore[ds]?|obeys?|bypass(?:es)?|rules|restrictions|instructions)(?!\p{L}))/u
/** A place in a program or a file system, with nothing after it in its paragraph. */
const PLACE =
  /^\s{1,4}in\s{1,4}the\s{1,4}(?:(?:root|admin)\s{1,4}(?:folder|directory|dashboard|page|menu|section))[ \t]{0,4}[.!]?(?:\s{0,4}$|[ \t]{0,4}\n[ \t]{0,4}\n)/
const NOTHING = /^[\s*`"'>)\]]*(?:$|[.!?,;:)])/
const SUBORDINATE =
  /(?<![\p{L}])(?:where(?:ver)?|what(?:ever)?|who|how|which|than|far|as|if|once|since|because|like|that|think|know|sure|given|assuming|so|like)\s+$/u

/** Finds "you are now" before a new role. A state ("ready", "on the branch") is none; anything else is doubtful. */
export function findRoleChanges(copy: string): RoleFinding[] {
  const found: RoleFinding[] = []
  for (const match of copy.matchAll(NOW)) {
    const start = match.index
    const end = start + match[0].length
    const rest = copy.slice(end, end + AHEAD)
    const head = copy.slice(Math.max(0, start - 24), start)
    const isSubordinate = SUBORDINATE.test(head)
    let verdict: MarkerDecision = 'doubtful'
    if (PLACE.test(rest)) verdict = 'none'
    else if (NEW_ROLE.test(rest)) verdict = PART.test(rest) ? 'doubtful' : 'refused'
    else if (NOTHING.test(rest))
      verdict = isSubordinate ? 'none' : /[\p{L}\p{N}][^\S\n]*$/u.test(head) ? 'doubtful' : 'refused'
    else if (isSubordinate || STATE.test(rest)) verdict = 'none'
    if (verdict !== 'none') found.push({ start, end, rule: 'role-change', verdict })
  }
  return found
}

const NAMES =
  'im_(?:start|end|sep|middle)|system|user|assistant|tool|developer|eot_id|eom_id|(?:start|end)_header_id|(?:start|end)_of_(?:turn|role|text)|begin_of_text|endoftext|end'
const MARKERS: readonly { rule: string; pattern: RegExp }[] = [
  // An index, as in `names[INST]`, is code.
  { rule: 'inst-marker', pattern: /(?<![\p{L}\p{N}_)\]])\[\s{0,8}(?:\/\s{0,8})?inst\s{0,8}\]/gu },
  { rule: 'sys-marker', pattern: /<<\s{0,8}(?:\/\s{0,8})?sys\s{0,8}>>/g },
  {
    rule: 'chat-token',
    pattern: new RegExp(
      [
        `<\\s{0,3}\\|\\s{0,8}(?:\\/\\s{0,8})?(?:${NAMES})\\s{0,8}\\|\\s{0,3}>`,
        '<\\|[a-z0-9_\u2581]{2,40}\\|>',
        '<\\|turn>|<turn\\|>',
        // Tokens that documentation mentions: before the name of a role they are used.
        '<(?:extra_id_\\d{1,3}|unused\\d{1,3}|reserved_\\d{1,4}|s|bos|sop)>\\s{0,4}(?:system|user|assistant|model|developer)(?![\\p{L}\\p{N}_-])',
        '<\\s{0,4}(?:\\/\\s{0,4})?(?:start|end)_of_turn\\s{0,4}>',
        '(?<![\\p{L}\\p{N}_)\\]])\\[\\s{0,4}(?:\\/\\s{0,4})?(?:system_prompt|available_tools|tool_results|tool_calls)\\s{0,4}\\]',
        '\\[\\|\\s{0,4}(?:system|user|assistant|endofturn)\\s{0,4}\\|\\]',
      ].join('|'),
      'gu',
    ),
  },
]

/** Finds the tokens that separate roles in the templates of models. In an inline code span they are mentioned rather than used. */
export function findTokens(copy: string): RoleFinding[] {
  const found: RoleFinding[] = []
  for (const { rule, pattern } of MARKERS)
    for (const match of copy.matchAll(pattern)) {
      const start = match.index
      const end = start + match[0].length
      found.push({ start, end, rule, verdict: isMentioned(copy, start, end) ? 'doubtful' : 'refused' })
    }
  return found
}

/**
 * Words that speak about a text rather than give an order, in the languages whose orders are recognized. They make a quoted order a
 * quotation.
 */
const ABOUT_IN_WORDS =
  'injection|jailbreak|говор[ия]т|содерж[аи]т|написан|пиш[еу]т|сообщ[иа]|атак[аиу]|инъекци|если|например|фраз|说|說|寫|写|包含|出现|出現|攻击|攻擊|注入|比如|例如|如果|諸如|诸如|例えば|という|といった|と書|と記|とある|もし|攻撃|예를|만약|라는|라고|같은|공격|주입|إذا|مثل|[يت]قول|قال|كتب|مكتوب|[يت]حتوي|تتضمن|هجوم|حقن|عبارة'
/** Copies for comparison have no accents, and letters of Korean in their parts. */
const ABOUT = new RegExp(
  String.raw`(?<![\p{L}\p{N}_])(?:says?|said|saying|writes?|wrote|writing|types?|typed|attackers?|states?|reads?|contains?|contained|containing|includes?|included|including|the words|like|such as|e\.g|examples?|for instance|phrases?|strings?|wording|texts?|attempts?|attacks?|injections?|injected|jailbreaks?|malicious|suspicious|hostile|detects?|detection|refuses?|refused|rejects?|rejected|flags?|reports?|reported|finding|obeyed|followed|treated|ignored|addresses|addressed|blocks?|blocked|filters?|match(?:es)?|patterns?|tells?|asks?|instructs?|claims?|pretends?|quote[sd]?|called|named|titled|treat|tests?|payloads?|adversarial|untrusted|if (?:a|an|the|any|some|one)|when (?:a|an|the|any|some|one)|whenever|tricks?|means?|dice|contiene|por ejemplo|si un|frases?|dit|contient|par exemple|sagt|enthalt|zum beispiel|wenn|satze|diz|contem|exemplo|se um|dicen|dijo|escriben?|aparecen?|contienen|contenga|ataques?|inyeccion|disent|ecrit|contiennent|contenant|attaques?|steht|stehen|schreib(?:t|en)|enthalten|lautet|angriffe?|dizem|escrevem?|contenham?|injecao)(?![\p{L}\p{N}_])|` +
    `${ABOUT_IN_WORDS}|${ABOUT_IN_WORDS.normalize('NFKD').replace(/[\u0300-\u036f\u064b-\u065f]/g, '')}`,
  'u',
)
/** A word that names the following text as an attack, before a colon. */
const NAMED =
  /\b(?:injections?|attacks?|jailbreaks?|malicious|payloads?|adversarial|hostile)\b[^\n.!?]{0,60}:\s*[^\n.!?]{0,20}$/
/** Another text or person gives the order: "the page tells you to …". The first person gives it itself. */
const REPORTED =
  /(?:\b(?:if|when|whenever)\s+[^.!?\n]{1,60}\bsays?\s+to\s+|\b(?:tells|told|telling|asks|asked|asking|instructs|instructed|instructing|orders|ordered|ordering|tries|tried|trying|attempts?|attempted|attempting|wants|wanted|claims|tricks|tricked|tricking|convinces|convincing|persuades|causes|causing|forces|makes|manipulates|requests?|instructions?|commands?|ways?)\s+(?:(?:you|it|them|us|the|a|an|any|its|llms?|models?|agents?|assistants?|ai|claude|chatgpt|system|reader|users?)\s+){0,4}(?:to\s+|into\s+)?|\b(?:that|which|who|they|it|models?|agents?|llms?|users?|people|attackers?|documents?|pages?)\s+(?:(?:can|may|might|could|would|will|often|sometimes|simply|also|then|always|try to|tries to)\s+){0,3}(?:(?:tell|ask|instruct|order|trick|convince|persuade|cause|force|make|manipulate|get|command)\s+(?:(?:you|it|them|us|the|a|an|any|its|llms?|models?|agents?|assistants?|ai|claude|chatgpt|system|reader)\s+){1,4}(?:to\s+|into\s+)?)?)$/
/** "CSS rules below override the rules above": rules of a program, not what a model was given. */
const RULES_BELOW =
  /(?:^\s*|[.!?]\s+)(?:the\s+)?(?:css|sass|eslint|stylelint|lint|firewall|routing|iptables|nginx|apache|git|gitignore|cors)\s+rules?\s+(?:below|further\s+down)\s+$/
const OVERRIDES_RULES = /^overrides?\s+(?:the\s+)?(?:rules?\s+above|(?:previous|earlier)\s+rules?)$/
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
const OPENING = /(?:["`«‹「『（(“”„]|(?<![\p{L}\p{N}])')([^"`«»‹›「」『』“”„\n]{0,60})$/u
const CLOSING = /["`»›」』）)”“]|'(?![\p{L}\p{N}])/u

type Speech = 'order' | 'quotation' | 'none'

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
  if (
    RULES_BELOW.test(line) &&
    OVERRIDES_RULES.test(text.slice(start, end)) &&
    /^[ \t]{0,3}[.!]?[ \t]{0,4}(?:$|\n)/.test(text.slice(end, end + 12))
  )
    return 'quotation'
  if (/^(?:override|overrule|bypass|supersede)/.test(text.slice(start, start + 10)) && PRECEDENCE.test(line))
    return 'quotation'
  return isQuoted(text, head, end) ? 'quotation' : 'order'
}

/** Whether quotation marks enclose the words, and the sentence around them speaks about them. */
function isQuoted(text: string, head: string, end: number): boolean {
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
function headOf(text: string, start: number): string {
  const head = text.slice(Math.max(0, start - REACH), start)
  const paragraph = head.search(/\n[ \t]*\n(?![\s\S]*\n[ \t]*\n)/)
  return paragraph < 0 ? head : head.slice(paragraph + 1)
}

/** Whether it stands in a short code span or quotation of a sentence. */
function isMentioned(copy: string, start: number, end: number): boolean {
  const head = headOf(copy, start)
  const opening = /(?<![`])`[^`\n]{0,24}$/.exec(head)
  const closing = /^[^`\n]{0,24}`(?!`)/.exec(copy.slice(end, end + 26))
  if (!opening || !closing) return isQuoted(copy, head, end)
  const line = head.slice(0, opening.index).split('\n').at(-1) ?? ''
  const rest = copy.slice(end + closing[0].length, end + 120).split('\n')[0] ?? ''
  return (`${line} ${rest}`.match(/\p{L}{2,}/gu) ?? []).length >= 2
}
