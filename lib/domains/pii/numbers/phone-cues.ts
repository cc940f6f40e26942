/** Words that announce a phone number, in the languages of the product and of its scanner. */
const cues =
  'tel telephone phone mobile cell cellphone fax call dial text whatsapp sms hotline ring telefon telefone telefono teléfono telefoon teléfono téléphone portable móvil movil celular cellulare handy mobil mobiel anruf anrufen rufnummer rückruf appelez appeler llame llámame llamar ligue ligar chiamare chiama chiamami numéro telefonnummer 电话 電話 手机 手機 致电 拨打 联系方式 携帯 連絡先 전화 휴대폰 연락처 핸드폰 тел телефон телефону мобильный звоните позвоните факс هاتف الهاتف جوال اتصل موبايل फ़ोन फोन मोबाइल कॉल दूरभाष contact kontakt contacto contato'.split(
    ' ',
  )
export const phoneCues: readonly string[] = [...new Set(cues)]

const letter = /\p{L}/u
const wide = /[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/
/** Whether the cue from `start` to `end` is a separate word or part of an identifier: `phone_number`, `homePhone`, not `string`. */
export function isCue(text: string, start: number, end: number): boolean {
  const [before, first, last, after] = [
    text.charAt(start - 1),
    text.charAt(start),
    text.charAt(end - 1),
    text.charAt(end),
  ]
  if (wide.test(first)) return true
  const begins = !letter.test(before) || (/\p{Ll}/u.test(before) && /\p{Lu}/u.test(first))
  const ends = !letter.test(after) || (/\p{Ll}/u.test(last) && /\p{Lu}/u.test(after)) || wide.test(after)
  return begins && ends
}

const between =
  /^(?:[ _-]?(?:numbers?|num|no|nr|nº|numéro|número|numero|nummer|番号|号码|號碼|번호|номер|home|work|office|mobile|main|phone|cell|fax|[1-3])){0,2}[^\p{L}\p{N}]{0,12}(?:(?:me|us|him|her|them|you|back|is|at|on|to|was|now|the|this|number|today|war|ist|unter|an|auf|mich|uns|est|au|sur|le|moi|es|al|el|en|a|me|é|no|para|è|il|là|是|为|為|は|에|는|은|по|номеру|على|رقم|पर|है|number:)[^\p{L}\p{N}]{0,6}){0,4}$/iu
/** Maximum characters between a cue and its number. */
export const cueReach = 40
/** Whether only words that usually introduce a number are between the cue and the number. */
export const leadsToNumber = (written: string): boolean => between.test(written)
