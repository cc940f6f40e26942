/**
 * Words that announce a phone number, by language, in lower case: the nouns and abbreviations of forms, signatures and letterheads. Words
 * for contact are included, verbs are not.
 */
const nouns: Readonly<Record<string, string>> = {
  en: 'tel telephone phone phones mobile mob cell cellphone ph fax landline whatsapp sms hotline helpline switchboard pager callback toll-free tollfree tph',
  af: 'telefoon selfoon faks',
  ar: 'هاتف الهاتف تليفون تلفون جوال الجوال موبايل محمول المحمول فاكس واتساب نقال خلوي',
  az: 'telefon mobil',
  be: 'тэлефон тэл моб',
  bg: 'телефон тел моб gsm мобилен джиесем факс',
  bn: 'ফোন মোবাইল টেলিফোন মোবাইলনম্বর',
  ca: 'telèfon mòbil tlf tel',
  cs: 'telefon tel mobil mob telefonní fax',
  cy: 'ffôn symudol',
  da: 'telefon tlf tel mobil mob mobiltelefon telefonnr tlfnr fax',
  de: 'telefon tel fon mobil mobiltelefon mobilnummer handy handynummer handynr telefonnummer rufnummer durchwahl festnetz rückruf rückrufnummer fax telefax tel.-nr telnr telefon-nr fernsprecher natel',
  el: 'τηλέφωνο τηλ κινητό κιν τηλεφωνο κινητο φαξ τηλέφωνα σταθερό',
  es: 'teléfono telefono tel tlf tfno tfn telf móvil movil celular cel fono fax whatsapp teléfonos cel.',
  et: 'telefon tel mobiil mob',
  eu: 'telefonoa tel mugikorra',
  fa: 'تلفن موبایل همراه فکس شماره‌تماس تلفن‌همراه',
  fi: 'puhelin puh matkapuhelin puhelinnumero gsm faksi',
  fil: 'telepono selpon',
  fr: 'téléphone telephone tél tel portable mobile port fixe gsm télécopie fax standard numéro tph téléphones',
  ga: 'guthán fón',
  gl: 'teléfono móbil tlf',
  he: 'טלפון טל נייד פלאפון פקס סלולרי טלפונים',
  hi: 'फ़ोन फोन मोबाइल कॉल दूरभाष टेलीफोन',
  hr: 'telefon tel mobitel mob faks',
  hu: 'telefon tel mobil mob telefonszám mobilszám fax',
  hy: 'հեռ հեռախոս բջջային',
  id: 'telepon telp telpon tlp hp handphone ponsel whatsapp wa nohp faks',
  is: 'sími símanúmer farsími gsm',
  it: 'telefono tel cellulare cell recapito fisso fax',
  ja: '電話 電話番号 携帯 携帯電話 連絡先 ファックス ファクス 直通 内線 代表',
  ka: 'ტელ ტელეფონი მობილური',
  kk: 'телефон тел ұялы',
  ko: '전화 전화번호 휴대폰 휴대전화 핸드폰 연락처 팩스 대표전화',
  lt: 'telefonas tel mob mobilusis faks',
  lv: 'tālrunis tālr tel mob mobilais',
  mk: 'телефон тел моб',
  mn: 'утас',
  mr: 'दूरध्वनी',
  ms: 'telefon tel bimbit',
  nb: 'telefon tlf mobil mob telefonnummer mobilnummer faks',
  nl: 'telefoon tel telefoonnummer mobiel mob mobielnummer gsm fax telefoonnr',
  pl: 'telefon tel telefonu kom komórka komórkowy nr faks infolinia stacjonarny',
  pt: 'telefone tel fone telemóvel telemovel tlm celular cel fax ramal zap telefones contacto contato',
  ro: 'telefon tel mobil mob fax',
  ru: 'телефон тел моб мобильный сот сотовый телефону телефона факс вотсап ватсап раб дом',
  sk: 'telefón tel mobil mob telefónne fax',
  sl: 'telefon tel mobitel gsm mob faks',
  sq: 'telefon tel celular',
  sr: 'телефон тел моб мобилни telefon tel mob mobilni',
  sv: 'telefon tel tfn mobil mob mobilnummer telefonnummer telnr fax',
  sw: 'simu namba',
  ta: 'தொலைபேசி கைபேசி அலைபேசி போன்',
  te: 'ఫోన్ మొబైల్',
  th: 'โทร โทรศัพท์ มือถือ เบอร์โทร เบอร์ แฟกซ์ เบอร์โทรศัพท์ โทรสาร',
  tr: 'telefon tel cep gsm faks telefonu',
  uk: 'телефон тел моб мобільний факс',
  ur: 'فون موبائل',
  uz: 'telefon tel mobil',
  vi: 'thoại đt sđt đtdđ dđ hotline tel',
  zh: '电话 電話 手机 手機 手机号 联系电话 联系方式 联系人 座机 传真 傳真 热线 热线电话 聯絡電話 行動電話 致电 拨打 固话 微信同号 聯絡方式',
}
/** Words that people use before a number and for other things as well; after them the number must have the form of a phone number. */
const ambiguous =
  'call dial text ring reach contact contacts kontakt contacto contato contatto kontakta kontakti anruf anrufen appelez appeler llame llámame llamar ligue ligar chiamare chiama chiamami звоните позвоните связь контакт اتصل للتواصل التواصل راسل gọi hubungi zadzwoń volat hívás port nr wa hp раб дом fon standard bel skambinti t: m: p: f: direct numéro 直通 代表 内線 联系人 همراه نقال محمول'

const byLanguage = [...new Set(Object.values(nouns).flatMap((words) => words.split(' ')))]
const unclear = new Set(ambiguous.split(' '))
export const phoneCues: readonly string[] = [...new Set([...byLanguage, ...unclear])].filter((word) => word.length > 1)
/** Whether a word also has other meanings. */
export const isAmbiguousCue = (word: string): boolean => unclear.has(word)

const letter = /\p{L}/u
const wide = /[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]/
/** The rest of a compound: `Handynummer`, `Telefonnr.`, `telefonszám`, `puhelinnumero`, `phonenumber`; and inflections. */
const compound =
  /^(?:s?nummer|nr|no|num|number|numero|nummeret|szám|száma|numarası|number|номер|зв|е|у|а|ом|en|et|i|a|em|u|s|es|oon)(?!\p{L})/iu
/**
 * Whether the cue from `start` to `end` is a separate word or part of an identifier: `phone_number`, `homePhone`, not `string`.
 */
export function isCue(text: string, start: number, end: number): boolean {
  const [before, first, last, after] = [
    text.charAt(start - 1),
    text.charAt(start),
    text.charAt(end - 1),
    text.charAt(end),
  ]
  if (wide.test(first)) return true
  // `T: 01 42 …` in a signature.
  if (end - start === 2 && last === ':') return /^$|[\s|,;/>]/.test(before)
  const begins =
    !letter.test(before) ||
    (/\p{Ll}/u.test(before) && /\p{Lu}/u.test(first)) ||
    // An escaped line end, and Arabic and Hebrew prefixes.
    (/[nrt]/.test(before) && text.charAt(start - 2) === '\\') ||
    (/[\u0590-\u06ff]/.test(before) && end - start > 2)
  if (!begins) return false
  return (
    !letter.test(after) ||
    (/\p{Ll}/u.test(last) && /\p{Lu}/u.test(after)) ||
    wide.test(after) ||
    compound.test(text.slice(end, end + 12))
  )
}

/** Words between a cue and its number. */
const introducers =
  'number numbers num no nr nro nrs nbr nº numéro numero número nummer numer numeris numura numărul numarası szám száma номер номера номеру 番号 号码 號碼 번호 номер home work office mobile mob main phone tel cell fax direct business personal private day evening emergency customer service support line cel celular fijo movil móvil privat geschäftlich dienstlich büro zentrale travail bureau domicile casa trabajo ufficio lavoro thuis werk hjem jobb arbete työ domů dom praca me us him her them you back is at on to was now the this our my your today war ist unter an auf mich uns est au sur le la les moi es al el en a é o os para è il là em ao nosso meu sua seu são er på til är till deres on numero numerolla jest pod od je na számon az egy este la numărul по на или или мой ваш наш είναι στο αριθμός numarası numara bana bizi 是 为 為 は が は、 に 에 는 은 이 로 으로 رقم على الرقم هو رقمي של הוא מספר שלי पर है नंबर संख्या नम्बर नंबर: คือ ที่ หมายเลข เบอร์ số là nomor no nomer adalah di number: и i y e und et and or oder ou ή و או या หรือ hoặc atau ve 또는 または 或 xin lòng vui điện thoại động di nhà'
const introducing = new Set(introducers.split(' ').map((word) => word.replace(/[:、]$/, '')))
const wordIn = /\p{L}[\p{L}\p{M}’'ºº]*/gu
/** Maximum characters between a cue and its number. */
export const cueReach = 40
const mostWords = 5

/** Whether only signs and words that usually introduce a number are between the cue and the number. */
export function leadsToNumber(written: string): boolean {
  if (written === '' || /^[ :.-]{1,3}$/.test(written)) return true
  // Another number, an assignment to something else, or the end of a sentence or paragraph.
  if (/\d{2}|[;{}=]\s{0,40}[^\s"'`<>({[]{0,40}[;{}]|\n\s*\n|\p{L}[.!?]\s+\p{L}{4}|[^\p{L}\p{N}]{13}/u.test(written))
    return false
  if (/^[\p{L}\p{M}]/u.test(written) && !compound.test(written) && !wide.test(written.charAt(0))) {
    // The rest of a name: `phoneNumber`, `phone_number`.
    if (!/^(?:Number|Num|No|Nr|Home|Work|Office|Mobile)(?!\p{Ll})/u.test(written)) return false
  }
  const rest = written.replace(/^(?:Number|Num|No|Nr|Home|Work|Office|Mobile)(?!\p{Ll})/u, '').replace(compound, '')
  let words = 0
  for (const [word] of rest.matchAll(wordIn)) {
    words += 1
    if (words > mostWords) return false
    const lower = word.toLowerCase()
    // Han, kana, hangul and Thai do not separate words.
    if (!introducing.has(lower) && !cueSet.has(lower) && !tag.has(lower) && !wide.test(lower)) return false
    if (wide.test(lower) && lower.length > 6) return false
  }
  return true
}
const cueSet = new Set(phoneCues)
/** Elements and fields around a value. */
const tag = new Set([
  'td',
  'th',
  'tr',
  'dd',
  'dt',
  'b',
  'strong',
  'span',
  'a',
  'href',
  'p',
  'br',
  'label',
  'div',
  'li',
  'value',
  'nbsp',
  'type',
  'voice',
  'text',
  'content',
  'li',
  'i',
  'em',
  'u',
  'code',
])
