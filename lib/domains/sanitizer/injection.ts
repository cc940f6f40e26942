import { searchDecoded } from '#lib/text/encoded-parts.ts'
import { assembled, Offsets, undisguised, withoutDigits } from './disguises.ts'
import { MarkdownCode } from './markdown-code.ts'
import type { Range } from './markdown-lines.ts'
import { type FoundOverride, findNewRoles, findOverrides } from './overrides.ts'
import {
  findMessages,
  findOtherSigns,
  findRoleChanges,
  findRoleMarkers,
  findSpeakers,
  findSystemTags,
  findTokens,
  type RoleFinding,
  speechAt,
} from './roles.ts'
import type { SanitizerFinding } from './sanitization-error.ts'
import type { TextKind } from './tags.ts'
import { findTakeovers } from './takeovers.ts'

/** Between words: white space, line breaks, emphasis, quotes and quotation prefixes. */
const GAP = '[\\s*`"\'>]+'
const FILL = `(?:(?:all|any|each|every|the|your|my|our|these|those|this|that|its|of|to|entire|whole|and|about|what|whatever|everything|anything|completely)${GAP}){0,8}`
const PRIOR = '(?:previous|prior|above|earlier|preceding|former|foregoing|past|aforementioned)'
const KIND = `(?:(?:and|or|following|subsequent|next|other|current|existing|further|these|those|system|user|developer|safety|security|given|stated|assistant|ai|model|original|initial|${PRIOR})${GAP}){0,3}`
const ORDERS =
  '(?:instructions?|prompts?|rules?|directions?|directives?|guidelines?|guidance|contexts?|orders|constraints?|conversations?|programming|training)'
const SAID = `(?:(?:came|come|comes|went|that|which|you|i|we|they|were|was|have|had|has|been|are|is|got|get|gotten|just|ever|already|read|seen|heard|learned|gave|given|received|stated|told|said|written|provided|instructed|all|up|your|developers?|creators?|operators?|makers?|owners?)${GAP}){0,8}`
const BEFORE = '(?:above|before|earlier|previously|prior|preceding|so far|until now|till now|up to now|beforehand)'
const COMMANDS = '(?:instructions?|prompts?|directions?|directives?|commands?|orders)'
/** What protects a model: to ignore these is an order without any word for "previous". */
const PROTECTIONS =
  '(?:guardrails|safeguards|safety|content|ethical|moral|programming|training|restrictions|filters|limitations|polic(?:y|ies)|guidelines|constraints|directives|conditioning)'
/** Guides contain "ignore these instructions if …"; a command ends there or continues with another one. */
const ALL_OF_IT = `(?:(?:all|every(?:thing)?)${GAP}(?:of${GAP})?(?:(?:the|these|those|this|that|your|my|our|its)${GAP})?|(?:these|those)${GAP})${KIND}${COMMANDS}(?=[.!;,:]|\\s*$|\\s*\\n|${GAP}(?:and|then|you|now|but|i|we|instead)\\b)`

const OBEYING = `(?:(?:no${GAP}longer${GAP}(?:have|need)${GAP}to|(?:do|must|should|shall|will)${GAP}not|need${GAP}not|refuse${GAP}to|don't|dont|stop|cease|quit|no${GAP}longer|never)${GAP}(?:follow(?:ing)?|obey(?:ing)?|heed(?:ing)?|listen(?:ing)?${GAP}to|comply(?:ing)?${GAP}with|adher(?:e|ing)${GAP}to|abid(?:e|ing)${GAP}by))`
const VERBS = `(?:ignore|forget|disregard|override|overrule|bypass|neglect|dismiss|unlearn|disobey|abandon|nullify|rescind|never(?:${GAP})?mind|set${GAP}aside|put${GAP}aside|throw${GAP}(?:away|out)|do${GAP}away${GAP}with|leave${GAP}behind|cast${GAP}aside|pay${GAP}no${GAP}(?:attention|heed|mind)${GAP}to|take${GAP}no${GAP}notice${GAP}of|turn${GAP}a${GAP}blind${GAP}eye${GAP}to|${OBEYING})`
/** Verbs that are also used for files and settings: only before words that can mean nothing but instructions. */
const OTHER_VERBS =
  '(?:discard|drop|erase|delete|wipe|clear|cancel|void|reset|revoke|supersede|omit|scrap|toss|purge|invalidate|overwrite|violate|scratch)'
const TAKE_BACK = new RegExp(`(?:${VERBS}|(${OTHER_VERBS}))${GAP}`, 'y')
/** First words of the verbs. */
const ANCHOR =
  /\b(?:act|behave|pretend|consider|treat|regard|deem|count|lay|brush|push|switch|throw|leave|cast|must|should|shall|will|need|refuse|ignore|forget|disregard|overr(?:ide|ule)|bypass|neglect|dismiss|unlearn|disobey|abandon|set|put|pay|take|turn|do|don't|dont|stop|cease|quit|no|never|nevermind|discard|drop|erase|delete|wipe|clear|cancel|void|nullify|reset|revoke|rescind|supersede|omit|scrap|toss|purge|invalidate|overwrite|violate|scratch)(?![a-z0-9_])/g
const WORD_BEFORE = /[\p{L}\p{N}_-]$/u
/** Maximum length of an order, from its verb to its object. */
const ORDER_REACH = 240
/** What a model was given, without a word for "previous". */
const GIVEN = `(?:${FILL}(?:system|initial|original|hidden|developer)${GAP}(?:prompts?|instructions?|messages?)|(?:(?:the|all|any|those|these|every|whatever)${GAP}){1,3}${KIND}(?:instructions?|rules|guidelines|prompts?|directives?|orders)${GAP}(?:that${GAP}|which${GAP})?(?:you${GAP}(?:were|have${GAP}been|got|had|have|received)|(?:were|have${GAP}been)${GAP}given${GAP}to${GAP}you|given${GAP}to${GAP}you|came${GAP}before))`
/** Measures, not the words of a guide: "override all safety protocols". */
const SAFETY = `(?:(?:all|any|every|your|the|its)${GAP}){1,2}(?:safety|security|ethical|moral|content)${GAP}(?:protocols?|measures|checks?|filters?|guidelines|restrictions|rules|guardrails|policies|instructions|constraints|mechanisms|limits)`
const WHAT_WAS_SAID = new RegExp(
  [
    `${GIVEN}\\b`,
    `${SAFETY}\\b`,
    `${FILL}${PRIOR}${GAP}${KIND}${ORDERS}\\b`,
    `${FILL}your${GAP}${KIND}(?:${ORDERS}|${PROTECTIONS})\\b`,
    `${FILL}${KIND}${ORDERS}${GAP}${SAID}${BEFORE}\\b`,
    `${FILL}(?:everything|anything|what|whatever|all)${GAP}${SAID}${BEFORE}\\b`,
    ALL_OF_IT,
    `(?:all${GAP}(?:of${GAP})?)?the${GAP}above(?=[.!,;]|\\s*$|\\s*\\n|${GAP}(?:and|then|instead)\\b)`,
  ].join('|'),
  'y',
)
const INSTRUCTIONS = new RegExp(
  [
    `${GIVEN}\\b`,
    `${FILL}${PRIOR}${GAP}${KIND}(?:instructions?|prompts?|directives?)\\b`,
    `${FILL}${KIND}(?:instructions|prompts|directives)${GAP}${SAID}${BEFORE}\\b`,
    `${FILL}your${GAP}${KIND}(?:instructions|guidelines|programming|guardrails|directives)\\b`,
    `${FILL}your${GAP}${PRIOR}${GAP}(?:orders|commands|rules)\\b`,
  ].join('|'),
  'y',
)
/** "The ignore rules above", "git ignore rules above": the verb is part of a name. */
const NAME_BEFORE =
  /(?:^|[^\p{L}])(?!(?:and|then|please|now|just|to|you|must|should|can|will|so|also|kindly|simply|assistant|ai|model|claude|gpt|chatgpt|but|or|immediately|instead|first|hey|ok|okay|hello|hi|dear|system|completely)\b)\p{L}[\p{L}\p{N}._-]*[ -]$/u
const NAME_AFTER = new RegExp(
  `^(?:ignore|override|bypass)${GAP}(?:rules?|contexts?|constraints?|directives?|guidelines?)\\b`,
)

/** "Git will ignore the rules above": a sentence about a program. Any other name may be that of a reader. */
const ABOUT_PROGRAM =
  /(?<![\p{L}\p{N}_'-])(?:git|eslint|prettier|rsync|docker|npm|tar|grep)[`*"]{0,2}\s+(?:will|would|may|might|can)\s+(?:(?:also|then|simply|always|silently|now)\s+){0,2}$/u
const SENTENCE_STOP = /^\s{0,4}(?:[.!?]|$|(?:if|when|unless|until|while|for|in|on|at|by)(?![\p{L}\p{N}_-]))/u
const RULES_AFTER = new RegExp(
  `^(?:ignore|override|bypass)${GAP}(?:(?:the|these|those|all|any|its)${GAP}){0,2}(?:rules?|constraints?|contexts?)\\b`,
)

/** The object between "put" and "aside". */
const ASIDE = `(?:(?:all|any|the|of)${GAP}){0,3}(?:your${GAP}(?:own${GAP}|current${GAP})?(?:instructions|guidelines|directives)|(?:your${GAP})?${PRIOR}${GAP}${KIND}(?:instructions|prompts|directives|guidelines|rules|orders))`
/** "Treat the previous instructions as void", "put your earlier instructions aside", "turn off your content policy". */
const SET_ASIDE = new RegExp(
  [
    `(?:consider|treat|regard|deem|count)${GAP}(?:(?:all|any|the|your|these|those|of)${GAP}){0,3}(?:${PRIOR}${GAP}${KIND}(?:instructions?|prompts?|directives?|orders)|(?:instructions?|prompts?|directives?)${GAP}(?:above|${SAID}${BEFORE}))${GAP}(?:(?:as|to${GAP}be|now)${GAP})?(?:void|null|invalid|cancell?ed|revoked|obsolete|nonexistent|withdrawn|superseded)`,
    `(?:(?:act|behave|pretend)${GAP}(?:as${GAP})?(?:if|though|that|like)|pretend)${GAP}(?:(?:all|any|the|your|these|those|of)${GAP}){0,3}(?:${PRIOR}${GAP}${KIND}(?:instructions?|prompts?|directives?|orders|rules)|(?:instructions?|prompts?|directives?|rules)${GAP}(?:above|${SAID}${BEFORE}))${GAP}(?:(?:do|does|did|were|was|had|have|has)${GAP})?(?:never|not|don't|didn't|doesn't|weren't|no${GAP}longer)${GAP}(?:been${GAP})?(?:exist(?:ed)?|given|happen(?:ed)?|there|apply|written|matter)`,
    `(?:put|set|lay|brush|push)${GAP}${ASIDE}${GAP}aside`,
    `(?:throw|cast)${GAP}${ASIDE}${GAP}(?:aside|away|out)`,
    `leave${GAP}${ASIDE}${GAP}behind`,
    `(?:turn|switch)${GAP}off${GAP}(?:all${GAP}(?:of${GAP})?)?your${GAP}(?:own${GAP})?(?:(?:safety|content|ethical|moral)${GAP}(?:polic(?:y|ies)|guidelines|rules|restrictions)|guardrails|safeguards|restrictions|programming)(?=[.!,;]|\\s*$|\\s*\\n|${GAP}(?:and|then|now|you)\\b)`,
  ]
    .map((form) => `${form}(?![\\p{L}\\p{N}_-])`)
    .join('|'),
  'uy',
)

/** The end of a sentence and of its paragraph. */
const SENTENCE_END =
  '(?:[ \\t](?:of|in|from|the|this|that|a|file|list|page)\\b){0,4}[ \\t]{0,4}[.!]?(?:\\s{0,4}$|[ \\t]{0,4}\\n[ \\t]{0,4}\\n)'
/** After instructions that are those of a file: "the previous instructions file". Nothing else follows in the paragraph. */
const FILE_AFTER = new RegExp(`^[ \\t]{1,4}(?:files?|folder|directory)${SENTENCE_END}`)
/** "Delete the previous instructions file before you start." */
const DELETED_FILE = new RegExp(
  `^[ \\t]{1,4}(?:files?|folder|directory)[ \\t]before[ \\t]you[ \\t](?:start|begin|deploy|build|upgrade|update|commit|push|merge)${SENTENCE_END}`,
)
/** After rules that are those of a file: "the rules above line 5". Nothing else follows in the paragraph. */
const OF_A_FILE = new RegExp(
  `^[ \\t]{1,4}(?:(?:in|of|from|to|within)[ \\t]{1,4}(?:(?:this|the|that|a)[ \\t]{1,4})?)?(?:lines? \\d{1,6}|files?|folder|director(?:y|ies)|columns?|rows?|cache|table|config|linter|stylesheet|makefile)${SENTENCE_END}`,
)
/** Whether the words after an order say that its object is in a file. */
const isOfFile = (order: string, after: string): boolean =>
  FILE_AFTER.test(after) ||
  (/^(?:delete|overwrite)(?!.*\byour\b)/s.test(order) && DELETED_FILE.test(after)) ||
  (/\brules?\b/.test(order) && OF_A_FILE.test(after))
/** Forms of orders that guides and boards also use: only those that name instructions, without a condition or a place, are certain. */
const RARE_ORDER = new RegExp(
  `^(?:never(?:${GAP})?mind|reset|consider|treat|regard|deem|lay|brush|push|switch|turn${GAP}off|(?:put|set|throw|cast)${GAP}(?!aside|away|out))(?![\\p{L}\\p{N}_-])`,
  'u',
)
const RARE_AND_DOUBTFUL = new RegExp(
  [
    `^never(?:${GAP})?mind\\b(?![\\s\\S]*(?:instruct|directive))`,
    '^(?:nullify|rescind)(?![\\s\\S]*(?:instruct|prompt|directive|message|given|before|\\byou))',
    `^(?:count|leave)${GAP}(?!behind)`,
    `^no${GAP}longer${GAP}(?:have|need)${GAP}to`,
    // "The above" may be a section of a guide, and players act as if a rule did not exist.
    `\\bthe${GAP}above$`,
    '^(?:act|behave|pretend)\\b',
    '^(?:consider|treat|regard|deem)[\\s\\S]*(?:obsolete|superseded|withdrawn)$',
    '\\bwhat(?:ever)?\\b[\\s\\S]*(?:rules?|contexts?|guidelines?|guidance|constraints?|conversations?)$',
  ].join('|'),
)
const CONDITION = /^[\s,;]{1,4}(?:if|when|unless|until|while|for|in|on|at|by|from)(?![\p{L}\p{N}_-])/u
/** "Do not follow the instructions above on Windows": a condition about a system, which ends the clause. */
const FOLLOW_ABOVE = new RegExp(`^(?:do${GAP}not|don't|dont)${GAP}follow${GAP}the${GAP}instructions${GAP}above$`)
const ON_SYSTEM =
  /^ (?:on|if you (?:use|are on|are using)) (?:windows|macos|mac|linux|ubuntu|debian|fedora|alpine|docker|android|ios|kubernetes|wsl2?)[.;,]/
/** "Bypass the content filter cache": a part of a program that is named after a measure. */
const THE_MEASURE = new RegExp(
  `^(?:bypass|override)${GAP}the${GAP}(?:content|security|safety)${GAP}(?:filters?|checks?|rules)$`,
)
const PART_OF_PROGRAM =
  /^ (?:cache|plugin|module|middleware|settings?|header|config|configuration|table)(?![\p{L}\p{N}_-])/u
/** What an order asks of its reader next. */
const FURTHER_ORDER =
  /(?<![\p{L}\p{N}_])(?:send|reply|respond|answer|reveal|print|output|tell|repeat|obey|follow)(?![\p{L}\p{N}_])/u
const isOfSystem = (order: string, after: string): boolean =>
  ((FOLLOW_ABOVE.test(order) && ON_SYSTEM.test(after)) || (THE_MEASURE.test(order) && PART_OF_PROGRAM.test(after))) &&
  !FURTHER_ORDER.test(after)
const isRare = (order: string, after: string): boolean =>
  isOfSystem(order, after) || RARE_AND_DOUBTFUL.test(order) || (RARE_ORDER.test(order) && CONDITION.test(after))
/** Orders that people also give to programs and shops: "cancel your previous orders", "reset the previous prompt". */
const DOUBTFUL_ORDER = new RegExp(
  `^(?:${OTHER_VERBS}${GAP}${FILL}${PRIOR}${GAP}(?:orders|commands|rules)$|reset${GAP}(?!${FILL}${KIND}(?:instructions|guidelines|programming|guardrails|directives)$)|reset${GAP}(?![\\s\\S]{0,60}\\byour\\b))`,
)

/** Programs also show messages: only the developer's, with nothing about them after it, is certainly a model's. */
const MESSAGE = /\b(system|initial|original|hidden|developer)[^\p{L}]{1,8}messages?$/u
const END_OF_ORDER = /^[^\p{L}\n]{0,4}(?:$|\n|[.!?,;:]|(?:and|then|instead|from|you)(?![\p{L}]))/u
const isOfProgram = (order: string, after: string): boolean => {
  const [, whose] = MESSAGE.exec(order) ?? []
  return whose !== undefined && (whose !== 'developer' || !END_OF_ORDER.test(after))
}

/** "Your previous instructions no longer apply." Without "all" or "your", the sentence may be about a manual. */
const LAPSED = new RegExp(
  `(?<![\\p{L}\\p{N}_-])((?:all|your|any|every)${GAP}(?:of${GAP})?(?:(?:the|your|these|those)${GAP})?)?(?:the${GAP})?(?:${PRIOR}${GAP}${KIND}(?:instructions?|prompts?|directives?)|(?:instructions?|prompts?|directives?)${GAP}(?:above|${SAID}${BEFORE}))${GAP}(?:(?:are|have${GAP}been|were|is)${GAP}(?:now${GAP}|hereby${GAP}|all${GAP})?(?:void|cancell?ed|revoked|invalid|null|obsolete|rescinded|nullified|superseded|lifted|no${GAP}longer${GAP}(?:valid|in${GAP}effect|in${GAP}force|binding|applicable))|(?:no${GAP}longer|do${GAP}not|don't|cease${GAP}to)${GAP}(?:apply|count|hold|matter|bind))(?![\\p{L}\\p{N}_-])`,
  'gu',
)

/** "Your guidelines no longer apply": people have guidelines as well. */
const LAPSED_OWN = new RegExp(
  `(?<![\\p{L}\\p{N}_-])your${GAP}${KIND}(?:instructions|guidelines|restrictions|programming|guardrails|directives|limitations)${GAP}(?:no${GAP}longer|do${GAP}not|don't)${GAP}(?:apply|count|bind)(?![\\p{L}\\p{N}_-])`,
  'gu',
)

/** Words of what an order takes back. Without one of them near a verb there is no order. */
const OBJECT =
  /instruction|prompt|message|rules?\b|direction|directive|guid|guard|context|orders|constraint|conversation|programming|training|above|before|earlier|previously|prior|preceding|so far|now\b|hand\b|safe|filter|polic|restrict|limitation|command|conditioning|content|ethic|moral/
const TOKEN =
  /<(?:extra_id_|unused\d|reserved_|s>|bos>|sop>)|\[[\s|/]{0,10}(?:inst|system|user|assistant|endofturn|available|tool)|<{1,2}[\s|/]{1,10}[a-z]|<\s{0,4}\/?\s{0,4}(?:start|end)_of_turn|<turn\||<<\s{0,8}\/?\s{0,8}sys/
const ENDED = /(?:void|cancel|revoked|invalid|null|obsolete|rescind|superseded|lifted|longer|not|n't|cease)/
const DEFIANT = /ignore|disregard|forget|overr(?:id|ul)e|bypass|neglect/
const OTHER_STRONG = /neglect|disable|suspend|turn off|switch off|lift|abandon|violate|obey|comply|jailbreak|unlock/
const NOW = /(?:are|'re)[\s*`"'>#/.]{1,40}now/

/** What stage 5 finds: the first order, and the offsets of quotations, doubtful places and Base64 of orders. */
type Injections = { refused: SanitizerFinding | undefined; quoted: number[]; encoded: number[] }
type Candidate = SanitizerFinding & { length: number; isQuoted: boolean }

/** Maximum quotations reported per text. */
const MOST_QUOTED = 20

/**
 * Stage 5: returns the first order to the reader or forged role, and quotations of such. Reads a folded copy (case, look-alikes, full-width and
 * mathematical letters, marks), the same copy without disguises, and the encoded parts as the other scanners decode them. An order in Base64 is
 * no order until somebody decodes it. Every pattern is bounded, so the time is linear.
 */
export function findInjections(text: string, kind: TextKind): Injections {
  const isInCode = codeOf(text, kind)
  const candidates = candidatesIn(text, isInCode, () => true)
  // An order refuses the text, and whatever follows it decides nothing.
  let until = candidates.reduce((min, { offset, isQuoted }) => (isQuoted ? min : Math.min(min, offset)), text.length)
  const encoded: number[] = []
  const decoded = searchDecoded(
    text,
    ({ text: part, placeOf, isCoded }) => {
      const refuses = (offset: number, length: number): boolean => {
        const place = placeOf({ start: offset, end: offset + length })
        return place.end > place.start && !isCoded(offset)
      }
      const found = candidatesIn(
        part,
        (offset) => isInCode(placeOf({ start: offset, end: offset + 1 }).start),
        refuses,
      ).map((one) => ({ ...one, start: one.offset, end: one.offset + one.length }))
      for (const { start, end, length, isQuoted } of found)
        if (!isQuoted && refuses(start, length)) until = Math.min(until, placeOf({ start, end }).start)
      return found
    },
    { isProse: true, until: () => until },
  )
  for (const { start, rule, isQuoted, isCoded } of decoded)
    if (!isCoded) candidates.push({ offset: start, length: 0, rule, isQuoted })
    else if (!isQuoted) encoded.push(start)
  const orders = candidates.filter(({ isQuoted }) => !isQuoted)
  const first = orders.toSorted((one, other) => one.offset - other.offset)[0]
  const quoted = candidates.filter(({ isQuoted }) => isQuoted).map(({ offset }) => offset)
  const inOrder = (offsets: number[]) => [...new Set(offsets)].sort((one, other) => one - other).slice(0, MOST_QUOTED)
  return {
    refused: first && { offset: first.offset, rule: first.rule },
    quoted: inOrder(quoted),
    encoded: inOrder(encoded),
  }
}

/** Pairs of a look-alike letter and the Latin letter it resembles. */
const LOOK_ALIKES = `
аa вb еe зz иu кk мm нh оo пn рp сc тt уy хx ѕs іi јj ԁd ԛq ԝw һh ѵv гr ьb ӏl ԍg ԏt ӕae ґr ҽe ҫc ҏp ңh ҳx ѡw
АA ВB ЕE КK МM НH ОO РP СC ТT УY ХX ЅS ІI ЈJ ԀD ԚQ ԜW ҺH ѴV ӀI ԌG ЗZ
αa βb γy δd εe ζz ηn ιi κk λl μu νv οo πn ρp σo ςs τt υu χx ωw ϲc ϳj ϑo ϱp
ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX ϹC ͿJ
օo սu հh ոn յj ցg զq քp ռn ղn աw ԱU ՍU ՏS ՕO ԼL ՀH
ᎠD ᎡR ᎢT ᎥI ᎪA ᎫJ ᎬE ᎳW ᎷM ᎻH ᎽY ᏀG ᏃZ ᏒR ᏔW ᏕS ᏙV ᏚS ᏞL ᏟC ᏢP ᏦK ᏧD ᏴB ᏻG ᏤV ᏂH
ꓐB ꓑP ꓓD ꓔT ꓖG ꓗK ꓙJ ꓚC ꓜZ ꓝF ꓟM ꓠN ꓡL ꓢS ꓣR ꓦV ꓧH ꓪW ꓫX ꓬY ꓮA ꓰE ꓲI ꓳO ꓴU
ⲁa ⲃb ⲉe ⲓi ⲕk ⲙm ⲛn ⲟo ⲣp ⲥc ⲧt ⲩy ⲭx
ıi ɩi ɪi ɑa ɡg ɢg ƒf ɴn ʀr ʏy ʙb ʜh ʟl ɾr ɯw ʋu ʍm ᴀa ᴄc ᴅd ᴇe ᴊj ᴋk ᴍm ᴏo ᴑo ᴘp ᴛt ᴜu ᴠv ᴡw ᴢz ꜱs ꞮI
øo łl đd ħh ŧt ȷj ɨi ɵo ƚl ɓb ɗd ɖd ɛe ƙk ɲn ŋn ƥp ɍr ƭt ɏy ƶz ØO ŁL ĐD ĦH ŦT
∶: ː: ꞉: ׃: ։: ܃: ‹< 〈< ⟨< ❮< ›> 〉> ⟩> ❯> ǀ| ∣| │| ❘| ⏐| ׀| ⟦[ ⟧] ❲[ ❳] ⁄/ ∕/ ⧸/
’' ‘' ‛' ʼ' ′' “" „" ‟" ″" «" »"`

const HOMOGLYPHS = new Map<string, string>()
for (const pair of LOOK_ALIKES.trim().split(/\s+/)) {
  const [character, ...latin] = pair
  if (character !== undefined && latin.length > 0) HOMOGLYPHS.set(character, latin.join(''))
}
HOMOGLYPHS.set('”', '"')

/** Blank characters that are not format characters: Hangul fillers and the empty Braille cell. */
const BLANK = /^[\u115F\u1160\u2800\u3164\uFFA0]$/u
/** Format characters; allowed in some contexts, but never part of a word's appearance. */
const INVISIBLE = /^\p{Cf}$/u
/** All scripts except East Asian ones, whose many characters fold to themselves. */
const isFoldable = (point: number): boolean =>
  (point >= 0x80 && point < 0x2e80) ||
  point === 0x3164 ||
  (point >= 0xa490 && point < 0xac00) ||
  (point >= 0xf900 && point < 0x17000) ||
  (point >= 0x1d000 && point < 0x20000)
const NOT_ASCII = /[^\0-\x7f]/
const folded = new Map<number, string>()

/**
 * Folds one character to its appearance: Latin, lower case, without marks; compatibility forms (full width, mathematical, circled) and
 * look-alikes are resolved by NFKD and a table.
 */
function foldCharacter(point: number): string {
  const known = folded.get(point)
  if (known !== undefined) return known
  const character = String.fromCodePoint(point)
  if (INVISIBLE.test(character)) {
    folded.set(point, '')
    return ''
  }
  const plain = BLANK.test(character) ? ' ' : character.normalize('NFKD').replace(/\p{M}/gu, '')
  const value = Array.from(plain, (part) => HOMOGLYPHS.get(part) ?? part)
    .join('')
    .toLowerCase()
  folded.set(point, value)
  return value
}

/** A copy for comparison, never for storage, and the offsets of its characters in the text. */
class Folded {
  readonly copy: string
  readonly #offsets = new Offsets()

  constructor(text: string) {
    const plain = NOT_ASCII.test(text) ? this.#fold(text) : text
    this.copy = withoutEmphasis(plain.toLowerCase())
  }

  #fold(text: string): string {
    let units = new Uint16Array(text.length + 64)
    let [count, all] = [0, 0]
    const write = (unit: number) => {
      if (count === units.length) {
        const more = new Uint16Array(count * 2)
        more.set(units)
        units = more
      }
      all |= unit
      units[count++] = unit
    }
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at)
      const point = unit >= 0xd800 && unit < 0xdc00 ? (text.codePointAt(at) ?? unit) : unit
      const length = point > 0xffff ? 2 : 1
      if (isFoldable(point)) {
        const fold = foldCharacter(point)
        this.#offsets.add(at, length, fold.length)
        for (let part = 0; part < fold.length; part++) write(fold.charCodeAt(part))
      } else {
        write(unit)
        if (length === 2) write(text.charCodeAt(at + 1))
      }
      at += length - 1
    }
    if (all < 0x100) return Buffer.from(units.subarray(0, count)).toString('latin1')
    return Buffer.from(units.buffer, 0, count * 2).toString('utf16le')
  }

  /** The offset in the text of the character at `offset` in the copy. */
  readonly placeOf = (offset: number): number => this.#offsets.back(offset)
}
/** Underscores around words in Markdown, which are part of a name elsewhere. */
const EMPHASIS = /(?<![\p{L}\p{N}_])_(?=[\p{L}\p{N}*`"'])([^_\n]{1,80})(?<=[\p{L}\p{N}*`"':.!])_(?![\p{L}\p{N}_])/gu
const withoutEmphasis = (copy: string): string =>
  copy.includes('_') ? copy.replace(EMPHASIS, (_, words: string) => ` ${words} `) : copy

type InCode = (position: number) => boolean

/** Whether an order at an offset refuses the text, rather than being in Base64. */
type Refuses = (offset: number, length: number) => boolean

/** The candidates of one copy of a text. After an order that refuses the text, no other one is needed. */
class Candidates {
  readonly all: Candidate[] = []
  /** The offset in the copy of the first order that refuses the text. */
  until = Number.POSITIVE_INFINITY
  /** The offset in the copy of the first order that does not refuse the text. */
  #other = Number.POSITIVE_INFINITY
  readonly #refuses: Refuses | undefined
  readonly #toText: (offset: number) => number

  constructor(toText: (offset: number) => number, refuses: Refuses | undefined) {
    this.#toText = toText
    this.#refuses = refuses
  }

  add(offset: number, length: number, rule: string, isQuoted: boolean): void {
    this.all.push({ offset, length, rule, isQuoted })
    if (isQuoted || !this.#refuses || offset >= this.until) return
    if (this.#refuses(this.#toText(offset), length)) this.until = offset
    else this.#other = Math.min(this.#other, offset)
  }

  /** Whether candidates after `until` are needed, because the first order is none that refuses the text. */
  get isIncomplete(): boolean {
    return this.until < Number.POSITIVE_INFINITY && this.#other <= this.until
  }

  /** The first order and the first quotations, with their offsets in the text. Only those that are reported are converted. */
  placed(): Candidate[] {
    const sorted = this.all.toSorted((one, other) => one.offset - other.offset)
    const first = sorted.find(({ isQuoted }) => !isQuoted)
    const quoted = sorted.filter(({ isQuoted }) => isQuoted).slice(0, MOST_QUOTED)
    return [...(first ? [first] : []), ...quoted].map((each) => ({ ...each, offset: this.#toText(each.offset) }))
  }
}

/** @param refuses undefined if all candidates are needed */
function candidatesIn(text: string, isInCode: InCode, refuses: Refuses | undefined): Candidate[] {
  const fold = new Folded(text)
  const { copy } = fold
  const isCode: InCode = (position) => isInCode(fold.placeOf(position))
  const found = new Candidates(fold.placeOf, refuses)
  addOverrides(copy, found)
  if (ENDED.test(copy)) addLapsed(copy, found)
  if (copy.includes('system') || copy.includes('developer')) addRoles(copy, isCode, found)
  if (DEFIANT.test(copy)) addDecisions(copy, findSpeakers(copy, isCode), found)
  if (NOW.test(copy)) addDecisions(copy, findRoleChanges(copy), found)
  if (DEFIANT.test(copy) || OTHER_STRONG.test(copy)) addDecisions(copy, findOtherSigns(copy), found)
  if (TOKEN.test(copy)) addDecisions(copy, findTokens(copy), found)
  for (const lettered of withoutDigits(copy)) {
    addOverrides(lettered, found)
    for (const order of findOverrides(lettered).found) addOrder(lettered, order, found)
  }
  // Orders in other languages with letters of another script that look like Latin ones.
  if (MIXED_SCRIPTS.test(text)) for (const order of findOverrides(copy).found) addOrder(copy, order, found)
  const inPieces = new Candidates((offset) => offset, refuses)
  let lower: string | undefined
  for (const { start, end, text: words, isName } of assembled(text)) {
    if (start >= inPieces.until || !isOrder(words)) continue
    lower ??= text.toLowerCase()
    const speech = speechAt(lower, start, end)
    if (speech !== 'none') inPieces.add(start, end - start, 'instruction-override', isName || speech === 'quotation')
  }
  const others = findOverrides(text)
  const inOthers = new Candidates(others.placeOf, refuses)
  for (const { start, end, isDoubtful } of others.found.toSorted((one, other) => one.start - other.start)) {
    if (start >= inOthers.until) break
    const said = speechAt(others.copy, start, end)
    const speech = isDoubtful && said === 'order' ? 'quotation' : said
    if (speech !== 'none') inOthers.add(start, end - start, 'instruction-override', speech === 'quotation')
  }
  for (const { start, end } of findNewRoles(others.copy))
    if (speechAt(others.copy, start, end) !== 'none') inOthers.add(start, end - start, 'role-change', true)
  for (const { start, end } of findTakeovers(others.copy))
    if (speechAt(others.copy, start, end) !== 'none') inOthers.add(start, end - start, 'takeover', true)
  const lists = [found, inOthers, inPieces]
  if (lists.some(({ isIncomplete }) => isIncomplete)) return candidatesIn(text, isInCode, undefined)
  return lists.flatMap((list) => list.placed())
}

const MIXED_SCRIPTS = /[A-Za-z][\u0370-\u04ff]|[\u0370-\u04ff][A-Za-z]/
/** Stems of the objects of orders in languages with Latin letters, and any letter beyond ASCII: other words need no closer look. */
const MAY_BE_ORDER =
  /instru|orden|order|r[eè]gl|regel|regra|rule|norm|prompt|direct|diretr|guid|paut|consign|indica|orienta|messag|mensa|restri|constrain|conte|kontext|befehl|vorgab|weisung|richtlin|hinweis|vorschrift|comando|commande|comand|istru|regol|opdracht|aanwijz|polecen|zasad|wytyczn|talimat|emir|instruks|perintah|petunjuk|aturan|arahan|tutto|tud[oa]|tod[oa]|tout|alles|above|before|earlier|previous|every|safe|filter|polic|training|program|conversation|what|told|guard|system|antes|avant|anterior|oben|vorher|bisher|dit|ce qu|directive|[^\0-\x7f]/i
/** Whether words give an order to ignore instructions, in any language. */
function isOrder(words: string): boolean {
  if (!MAY_BE_ORDER.test(words)) return false
  const copy = new Folded(words).copy
  for (const { index } of copy.matchAll(ANCHOR)) {
    if (WORD_BEFORE.test(copy.slice(Math.max(0, index - 2), index))) continue
    const order = orderIn(copy.slice(index))
    if (order !== undefined && !DOUBTFUL_ORDER.test(order) && !RARE_AND_DOUBTFUL.test(order)) return true
  }
  return findOverrides(words).found.some(({ isDoubtful }) => !isDoubtful)
}

function addOrder(copy: string, { start, end, isTentative }: FoundOverride, found: Candidates): void {
  if (start >= found.until) return
  const said = speechAt(copy, start, end)
  const speech = isTentative && said === 'order' ? 'quotation' : said
  if (speech !== 'none') found.add(start, end - start, 'instruction-override', speech === 'quotation')
}

function addOverrides(copy: string, found: Candidates): void {
  for (const { index } of copy.matchAll(ANCHOR)) {
    if (index >= found.until) break
    const window = copy.slice(index, index + ORDER_REACH)
    if (!OBJECT.test(window) || WORD_BEFORE.test(copy.slice(Math.max(0, index - 2), index))) continue
    const order = [window, ...undisguised(window)].map(orderIn).find((words) => words !== undefined)
    if (order === undefined) continue
    const { length } = order
    const isName = NAME_AFTER.test(window.slice(0, 40)) && NAME_BEFORE.test(copy.slice(Math.max(0, index - 40), index))
    const said = isName ? 'none' : speechAt(copy, index, index + length)
    const after = window.slice(length, length + 120)
    const isDescribed =
      RULES_AFTER.test(order) &&
      SENTENCE_STOP.test(after) &&
      ABOUT_PROGRAM.test(copy.slice(Math.max(0, index - 60), index))
    const isDoubtful =
      isDescribed ||
      DOUBTFUL_ORDER.test(order) ||
      isRare(order, after) ||
      isOfFile(order, after) ||
      isOfProgram(order, after)
    const speech = said === 'order' && isDoubtful ? 'quotation' : said
    if (speech !== 'none') found.add(index, length, 'instruction-override', speech === 'quotation')
  }
}

function addLapsed(copy: string, found: Candidates): void {
  for (const { 0: words, 1: every, index } of copy.matchAll(LAPSED)) {
    if (index >= found.until) break
    const speech = speechAt(copy, index, index + words.length)
    if (speech === 'none') continue
    found.add(index, words.length, 'instruction-override', speech === 'quotation' || every === undefined)
  }
  for (const { 0: words, index } of copy.matchAll(LAPSED_OWN))
    if (speechAt(copy, index, index + words.length) !== 'none')
      found.add(index, words.length, 'instruction-override', true)
}

/** The order that a text begins with; undefined if it begins with none. */
function orderIn(text: string): string | undefined {
  const length = orderLength(text)
  return length === undefined ? undefined : text.slice(0, length)
}
function orderLength(text: string): number | undefined {
  TAKE_BACK.lastIndex = 0
  const verb = TAKE_BACK.exec(text)
  if (!verb) {
    SET_ASIDE.lastIndex = 0
    return SET_ASIDE.test(text) ? SET_ASIDE.lastIndex : undefined
  }
  const pattern = verb[1] === undefined ? WHAT_WAS_SAID : INSTRUCTIONS
  pattern.lastIndex = verb[0].length
  return pattern.test(text) ? pattern.lastIndex : undefined
}

function addRoles(copy: string, isCode: InCode, found: Candidates): void {
  addDecisions(copy, findRoleMarkers(copy, isCode), found)
  addDecisions(copy, findMessages(copy, isCode), found)
  addDecisions(copy, findSystemTags(copy, isCode), found)
}

function addDecisions(copy: string, roles: readonly RoleFinding[], found: Candidates): void {
  for (const { start, end, rule, verdict } of roles) {
    if (start >= found.until) continue
    // After a role, "that" begins a clause: "note that system: …".
    const isClause = rule === 'system-role' && /\b(?:that|this|it)\s$/.test(copy.slice(Math.max(0, start - 6), start))
    const speech = verdict === 'doubtful' ? 'quotation' : isClause ? 'order' : speechAt(copy, start, end)
    if (speech !== 'none') found.add(start, end - start, rule, speech === 'quotation')
  }
}

/** Whether positions of a text are in code. */
function codeOf(text: string, kind: TextKind): InCode {
  if (kind === 'code') return () => true
  let ranges: Range[] | undefined
  return (position) => {
    ranges ??= codeRanges(text)
    let [from, to] = [0, ranges.length]
    while (from < to) {
      const middle = (from + to) >>> 1
      if ((ranges[middle]?.end ?? 0) <= position) from = middle + 1
      else to = middle
    }
    return (ranges[from]?.start ?? Number.POSITIVE_INFINITY) <= position
  }
}
function codeRanges(text: string): Range[] {
  const ranges: Range[] = []
  // A reader that trims the text makes the block with which it begins ordinary text.
  const finder = new MarkdownCode(text, false)
  for (let range = finder.after(0); range; range = finder.after(range.end)) ranges.push(range)
  return ranges
}
