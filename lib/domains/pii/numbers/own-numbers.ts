import type { Span } from '#lib/text/layer.ts'

// Whether a telephone number in somebody's words is their own, or one that they mention: of a doctor, a colleague, a hotline.

/** What people call their telephone, in lower case. */
const nouns =
  'number|phone|telephone|mobile|cell|cellphone|cellular|tel|landline|whatsapp|signal|extension|line|nummer|telefonnummer|handynummer|mobilnummer|festnetznummer|rufnummer|handy|telefon|festnetz|mobil|numéro|portable|téléphone|tél|fixe|número|teléfono|telefono|móvil|movil|celular|celu|cel|fijo|numero|cellulare|fisso|telemóvel|telefone|whats|mobieltje|mobiel|telefoonnummer|gsm|numer|komórka|mobilen|telefonen|mobiltelefon|номер|телефон|мобильный|сотовый|мобільний|číslo|mobilní|numărul|numarul|mobilul|telefonul|broj|mobitel|αριθμός|κινητό|τηλέφωνο'
/** What may be between the owner and the telephone. Another noun would be another person: `my doctor's number`. */
const kinds =
  'new|old|work|home|office|private|personal|direct|mobile|cell|current|other|second|phone|neue|neuen|alte|privaten|dienstliche|nouveau|nuevo|nuova|nuovo|novo|nieuwe|nowy|новый|новий|рабочий|личный'
const owners =
  'my|our|mein|meine|meinem|meiner|unsere|mon|ma|notre|mi|nuestro|mio|il mio|la mia|nostro|meu|minha|nosso|mijn|ons|mój|moja|mitt|min|mit|мой|мій|наш|můj|moje|môj|moj|το'
/** Signs that the writer speaks of their own telephone, beside that of an owner. */
const cues = [
  '(?:call|ring|text|phone|reach|message|contact|whatsapp|dial|get|catch|ping)(?: or (?:call|ring|text|message))? me',
  'give me a (?:call|ring|buzz|bell|shout)',
  'i can be (?:reached|contacted|called)',
  "i(?:['’]m| am) (?:reachable|available)",
  '(?:ruf|rufe|rufen sie|ruft|erreichst du|erreichen sie|erreicht ihr|kontaktieren sie) mich(?: an)?',
  '(?:sie|du|ihr) (?:erreichen|erreichst|erreicht) mich',
  '(?:ich bin|bin) (?:zu erreichen|erreichbar)',
  '(?:meld|melde|melden sie) (?:dich|sich) bei mir',
  '(?:appelez|appelle|rappelez|rappelle|contactez|contacte|joignez)[- ]moi',
  '(?:me joindre|je suis joignable)',
  '(?:llámame|llamame|llámeme|márcame|contáctame|escríbeme|contactarme|llamarme|contacta conmigo)',
  '(?:chiamami|chiamatemi|mi chiami|contattami|contattatemi|telefonami|scrivimi|mi trovi|mi trova)',
  '(?:me liga|me ligue|liga-me|ligue-me|me chama|contacte-me|contactar-me)',
  '(?:bel|bereik|app) (?:me|mij)',
  '(?:me|mij) (?:bereiken|bellen)',
  '(?:ring|kontakta|nå|når du|kontakt) (?:mig|meg)',
  '(?:zadzwoń|dzwoń) do mnie',
  '(?:zavolej|zavolejte|volejte) mi',
  '(?:позвони|позвоните|звони|звоните|набери|наберите|перезвоните|пишите) мне',
  '(?:подзвони|подзвоніть|зателефонуйте) мені',
  '(?:sună|sunați|suna|sunati)-mă',
  '(?:pozovi|nazovi|pokliči) me',
  '(?:beni ara|beni arayın|numaram|telefonum|telefon numaram|cep numaram)',
  '(?:puhelinnumeroni|numeroni|kännykkäni|puhelimeni|soita minulle)',
  '(?:a számom|telefonszámom|mobilom|hívjon|hívj fel)',
  '(?:πάρε με|καλέστε με)',
  '(?:nomor saya|telepon saya|hubungi saya|wa saya|telefon saya)',
  '(?:رقمي|رقم هاتفي|رقم جوالي|اتصل بي|كلمني)',
  '(?:המספר שלי|הנייד שלי|התקשר אליי)',
  '(?:मेरा नंबर|मुझे कॉल करें)',
  '(?:شماره من|شماره‌ام)',
  '(?:số của tôi|sđt của tôi|gọi cho tôi|số điện thoại của tôi)',
  '(?:เบอร์ของฉัน|เบอร์ผม|เบอร์ฉัน|โทรหาฉัน|โทรหาผม)',
]
/** Scripts without spaces have no border before a cue. */
const unspacedCues =
  '我的?(?:新|工作|私人)?(?:电话|電話|手机|手機|号码|號碼|微信|联系方式|聯絡方式)(?:号码?|號碼?)?|(?:打|打电话|致电|联系)(?:给)?我|(?:私|僕|俺|わたし)の(?:新しい)?(?:電話|携帯|番号|電話番号|携帯番号|連絡先)|(?:제|내|저의|나의) ?(?:새 ?)?(?:번호|전화|휴대폰|핸드폰|연락처)(?:번호)?'
const owned = `(?:${owners}) (?:(?:${kinds}) ){0,2}(?:${nouns})`
const cue = `(?<![\\p{L}\\p{N}])(?:${owned}|${cues.join('|')})(?![\\p{L}\\p{N}])|${unspacedCues}`
/** Up to three further words, in which no other person is named: `call me at`, `my number is`, `meine Nummer lautet`. */
const between =
  '(?:[\\s:：,=.()\\[\\]*_|+–—-]{0,4}(?:\\p{Ll}[\\p{L}.]{0,14}|[\\p{Lo}\\p{M}]{1,8})){0,3}[\\s:：,=.()\\[\\]*_|+–—-]{0,6}'
const before = new RegExp(`(?:${cue})(?<rest>${between})$`, 'iu')
const after = new RegExp(
  `^[\\s,.()\\[\\]–—-]{0,4}(?:(?:is|that[’']?s|ist|das ist|est|c[’']est|es|è|é|to|jest|это|це|er|är|on) )?(?:${cue})`,
  'iu',
)
/** Words of another person, or of a choice between several people. */
const others =
  /(?<!\p{L})(?:or|and|his|her|hers|their|theirs|him|them|oder|und|sein|seine|ihr|ihre|ou|et|son|sa|leur|o|y|e|su|suo|sua|of|von|de|del|lub|i|или|и|его|её|их)(?!\p{L})|\p{L}['’]s(?!\p{L})|[或和他她]/iu
const capitalized = /(?<!\p{L})\p{Lu}\p{Ll}/u
const nounOfGerman =
  /(?<!\p{L})(?:Nummer|Handynummer|Telefonnummer|Handy|Telefon|Mobil|Tel|Whatsapp|WhatsApp|Uhr)(?!\p{L})/gu
/** A text that is a number and the name of its kind answers the question for it. */
const onlyNumber =
  /^[\s\p{P}\p{S}]*(?:(?:tel|telefon|telephone|phone|mobile|mobil|cell|handy|tél|téléphone|teléfono|telefono|móvil|m|t|p|ph|mob|电话|手机|電話|携帯|тел|телефон)\b[\s\p{P}\p{S}]*)?$/iu
/** The end of a message, before the name and the number of its writer. */
const closing =
  /(?:^|\n)[ \t>]*(?:-- ?|(?:(?:best|kind|warm|many) )?(?:regards|wishes|thanks)|best|cheers|thanks|thank you|sincerely|yours(?: sincerely| truly)?|(?:viele |liebe |beste |schöne |mit freundlichen |freundliche )?gr(?:ü|ue)(?:ß|ss)en?|mfg|lg|vg|(?:bien )?cordialement|bien à vous|(?:un )?saludos?(?: cordiales)?|atentamente|cordiali saluti|saluti|atenciosamente|abraços|(?:met )?vriendelijke groeten?|groet(?:en|jes)?|(?:med )?(?:vänliga|vennlig|venlig) h(?:ä|i)lsning(?:ar)?|pozdrawiam|с уважением|з повагою|s pozdravem|祝好|此致|敬具|よろしくお願いします|감사합니다)[ \t,.!]*(?:\n|$)/iu
const mostLinesAfterClosing = 7

/** In characters: what is further away says nothing about the number. */
const longestClause = 120
const clauseEnd = /[.!?;](?=\s)|[。！？；\n]/gu
const abbreviation = /(?<!\p{L})(?:tel|mob|no|nr|tél|тел|моб|st)\.$/iu
/** What the sentence of a number contains before it, without other numbers. */
function clauseBefore(text: string, start: number, from: number): string {
  const lead = text.slice(Math.max(from, start - longestClause), start)
  let begin = 0
  for (const { index } of lead.matchAll(clauseEnd)) if (!abbreviation.test(lead.slice(0, index + 1))) begin = index + 1
  return lead.slice(begin)
}

/**
 * Which of the telephone numbers in a text are those of its writer: the writer says so beside the number, the text contains nothing else, or
 * the number is in the signature. Every other number may be somebody else's.
 */
export function ownNumbers<T extends Span>(text: string, numbers: readonly T[]): Set<T> {
  const own = new Set<T>()
  const [only] = numbers
  if (only && numbers.length === 1 && onlyNumber.test(`${text.slice(0, only.start)} ${text.slice(only.end)}`))
    own.add(only)
  let from = 0
  for (const number of numbers) {
    const lead = clauseBefore(text, number.start, from)
    from = number.end
    const rest = before.exec(lead)?.groups?.rest
    const names = rest?.replaceAll(nounOfGerman, '')
    if (names !== undefined && !others.test(names) && !capitalized.test(names)) own.add(number)
    else if (after.test(text.slice(number.end, number.end + longestClause).split('\n', 1)[0] ?? '')) own.add(number)
    else if (isInSignature(text, number.start)) own.add(number)
  }
  return own
}
function isInSignature(text: string, start: number): boolean {
  const lines = text.slice(0, start).split('\n')
  const last = lines.slice(-mostLinesAfterClosing).join('\n')
  const end = closing.exec(last)
  if (!end) return false
  // A paragraph after the closing is a postscript or a quoted message, and a long line is a sentence.
  const rest = last
    .slice(end.index + end[0].length)
    .trimStart()
    .split('\n')
  return rest.every(
    (line, at) => line.length <= 60 && !line.startsWith('>') && (line.trim() !== '' || at === rest.length - 1),
  )
}
