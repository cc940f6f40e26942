import { finding, lowConfidence, type SensitiveFinding } from '#lib/domains/pii/findings.ts'
import { isAlphanumeric, isDigit } from '#lib/domains/pii/matching.ts'
import { isAmericanForm, isInternationalNumber, isNationalNumber, isNumberIn } from './phone-plans.ts'

/**
 * Words that announce a phone number, by language, in lower case: the nouns and abbreviations of forms, signatures and letterheads. Words
 * for contact are included, verbs are not.
 */
const nouns: Readonly<Record<string, string>> = {
  en: 'tel telephone phone phones mobile mob cell cellphone ph fax landline whatsapp sms hotline helpline switchboard pager callback toll-free tollfree tph',
  af: 'telefoon selfoon sel faks',
  ar: 'جوالي هاتفي موبايلي رقمي تليفوني هاتف الهاتف تليفون تلفون جوال الجوال موبايل محمول المحمول فاكس واتساب نقال خلوي',
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
/** Invitations to call, by language. A number follows them directly or after a preposition. */
const invitations: Readonly<Record<string, string>> = {
  en: 'office line|direct line|work line|home line|give me a bell|give us a bell|give me a buzz|give us a buzz|give me a ring|give us a ring|call or text|call me|call us|call him|call her|call them|text me|ring me|ring us|phone me|reach me|reach us|reached at|reachable at|dial us|give me a call|give us a call|message me|my number|my cell|my mobile|contact number|contact no|contact details|contact us|contact me|contact him|contact her|phone no|phone number|whatsapp me|speak to me on|talk to me on|get me on|get hold of me|leave a message|catch me on|available on|emergency contact|on-call|my line|my phone|by phone|by telephone|via phone',
  af: 'bel my|bel ons|skakel|kontaknommer',
  ar: 'للاتصال|للإتصال|اتصل بي|اتصل بنا|اتصلوا|رقمي|رقم الجوال|رقم الهاتف|رقم التواصل|للاستفسار|للحجز|رقم الموبايل|اتصل|رقم|للتواصل|تواصل معنا|اتصل على|رقم موبايلي|رقم تليفون|ج:|هـ:|كلمني|كلمني على|كلمنا على',
  az: 'zəng edin|əlaqə nömrəsi',
  bg: 'обадете се|обадете ми се|обади ми се|за контакт|за връзка|тел номер|моят телефон|мобилен телефон|моб тел|звъннете|номер за връзка',
  bn: 'ফোন নম্বর|মোবাইল নম্বর|যোগাযোগ|কল করুন',
  ca: 'truqueu|truca al|truqui',
  cs: 'volejte|zavolejte|zavolej mi|zavolej|telefonní číslo|tel číslo|číslo|volat|můj telefon|můj mobil|moje číslo|zavolat|kontaktní telefon|spojení|tel č',
  da: 'mit nummer|ring til|ring på|ring til mig|kontakt os|træffes på|ringe|mobiltlf|mobilnr|mit mobilnummer|kontakt mig|fange mig|få fat i mig|træffe mig|telefonnr',
  de: 'ruf mich|rufen sie|ruf an|rufe mich|rufen sie uns|ruft uns|anrufen unter|erreichbar unter|erreichst du mich|erreichen sie mich|erreichen sie uns|zu erreichen|meine nummer|meiner nummer|ruf uns|meld dich|unter der nummer|whatsapp nummer|kontaktnummer|privatnummer|dienstnummer|büronummer|festnetznummer|firmennummer|notfallnummer|anrufen|mich unter|uns unter|ihn unter|sie unter|rückrufbitte|bitte zurückrufen|ruf zurück|meine handynummer|mobilfunk|mobilfunknummer|diensthandy|notruf|tel nr',
  el: 'καλέστε|τηλέφωνο επικοινωνίας|πάρε με|αριθμός|αριθμός τηλεφώνου|επικοινωνία|επικοινωνίας|κινητό μου|τηλέφωνό μου|καλέστε με|καλέστε στο|στο τηλέφωνο|τηλ επικοινωνίας|επικοινωνήστε',
  es: 'márcame|márcale|échame un telefonazo|llamame|llámenos|llámanos|llame al|llama al|llamar al|llámeme|mi número|mi cel|mi celu|marca al|marque al|número de teléfono|número de contacto|contacto|llame|llámame|llamar|contacta conmigo|contáctame|contáctanos|contactarme|contactar al|mi móvil|mi celular|mi teléfono|comuníquese|comunicarse al|telefonear|localizable en|celu|tel móvil',
  et: 'helista|helistage|telefoninumber|minu number|mobiiltelefon|mobiilinumber',
  fa: 'شماره تماس|شماره تلفن|شماره موبایل|تماس بگیرید|شماره همراه|تماس با|زنگ بزن|شماره من|شماره ما|تلفن تماس|تلفن ثابت|تلفن همراه',
  fi: 'soita|soittakaa|puhelinnumeroni|numeroni|tavoittaa|numero on|puhelinnumero on|matkapuh|tavoitat|soita minulle|puhnro|puhelinnro|kännykkä|kännykkäni|numerosta|puhelimeni|yhteysnumero|työpuhelin',
  fil: 'cp no|cp#|cp number|cel no|cellphone no|tawagan|tawag sa|numero ng telepono',
  fr: 'appelez-moi|appelle-moi|appelez-nous|appelez nous|appelez le|appelez au|appeler le|appeler au|joignable au|joignable sur|joindre au|contactez-moi|contactez-nous|mon numéro|mon 06|mon 07|rappelez-moi|rappeler au|numéro de téléphone|téléphonez|appelez|appeler|rappelle-moi|rappelez|me joindre|nous joindre|le joindre|appelle|mon portable|mon tél|portable perso|n° de tél|n° tel|téléphoner|composez|composer le',
  ga: 'cuir glaoch',
  he: 'התקשרו|תתקשר|להתקשר|ליצירת קשר|המספר שלי|מספר הטלפון|חייגו|טלפון נייד|מס טלפון|מספר נייד|לתיאום|נייד שלי|אפשר להתקשר',
  hi: 'कॉल करें|फोन करें|फ़ोन करें|संपर्क|मेरा नंबर|संपर्क नंबर|नंबर|मोबाइल नं|फ़ोन नं|व्हाट्सएप|हेल्पलाइन',
  hr: 'nazovite|nazovi me|broj telefona|zovite|kontakt broj|broj mobitela|moj broj|kontakt telefon|zvati na|mobilni',
  hu: 'hívjon|hívj|hívja|hívjatok|elérhető|telefonon|hívható|keressen|a számom|hívás|hívni|hívd|hívjál|mobilom|elérhetőségem|elérhetőség|telefonos elérhetőség|hívószám',
  hy: 'զանգահարել|զանգեք|հեռախոսահամար',
  id: 'hubungi|telepon saya|telpon saya|nomor telepon|nomor hp|nomor saya|nomor wa|kontak|nomor ponsel|nomornya|nomer hp|no tlp|no wa|wa saya|hubungi saya|hubungi kami|kontak saya',
  is: 'hringdu í|hringið í|hringið',
  it: 'il mio numero|chiamami|chiamatemi|mi chiami|chiamare il|chiama il|chiamate il|telefonare al|telefonare allo|contattami|contattare il|mio numero|reperibile al|numero di telefono|recapito telefonico|contatto telefonico|contatto|chiamare|chiama|mi trovi|mi trova|ci trovate|contattarmi|contattateci|mio cellulare|mio telefono|telefonami|telefonate|rintracciabile|num cell|n° tel|tel mobile',
  ja: 'お電話|お問い合わせ|ご連絡先|連絡先は|番号は|電話は|携帯は|までお電話|フリーダイヤル|番号：|代表電話|ケータイ|携帯電話番号|自宅電話|勤務先電話|緊急連絡先|お問合せ|電話をください',
  ka: 'დარეკეთ|ნომერი',
  kk: 'қоңырау шалыңыз|байланыс',
  ko: 'h.p|hp|번호는|제 번호|전화주세요|연락주세요|전화는|연락처는|전화 주세요|연락 주세요|문의|전화로|폰번호|폰|전화문의|상담전화|고객센터|연락 바랍니다|핸드폰번호|휴대폰번호',
  lt: 'skambinkite|skambink|telefono numeris|kontaktai|telefonu|mano telefonas|mano numeris|mob tel|tel nr|kreiptis telefonu',
  lv: 'zvaniet|zvani|tālruņa numurs|zvanīt|mans numurs|mob tel|tel nr|kontakttālrunis',
  mk: 'јавете се|контакт',
  mr: 'फोन नंबर|मोबाईल नंबर|मोबाईल|संपर्क क्रमांक',
  ms: 'hubungi|nombor telefon|telefon saya|no telefon',
  nb: 'mitt nummer|ring meg|ring oss|ring til|ring på|nås på|treffes på|kontakt oss|ringe|ring gjerne|mobiltlf|mobilnr|mitt mobilnummer|nå meg|når meg|treffe meg|telefonnr',
  nl: 'bel mij|bel me|bel ons|bel naar|bereikbaar op|te bereiken op|mijn nummer|06-nummer|te bellen op|bel dan|bellen naar|mobiele nummer|bellen|mij bellen|me bereiken|mij bereiken|ons bereiken|bereiken op|bereik me|bel even|mijn mobiel|mijn gsm|mobiel nummer|contactnummer|bel op|telnr|gsm-nummer|terugbellen',
  pl: 'zadzwoń|zadzwonić|dzwoń|dzwonić|proszę dzwonić|numer telefonu|mój numer|numer kontaktowy|pod numerem|numer komórki|kontakt telefoniczny|zadzwon|telefonicznie|oddzwoń|proszę o kontakt|mój telefon|kontakt tel|tel kom',
  pt: 'ligue para|ligue-me|liga-me|me liga|me ligue|ligar para|ligue|meu número|o meu número|número de telefone|número de contacto|contacte|contacte-nos|chama no|fale conosco|contato telefônico|ligar|contatar|telm|telef|meu celular|meu telefone|meu telemóvel|contactar|contactar-me|liga para|chamar no|me chama|zap|número do celular',
  ro: 'sunați|sunați la|sunați-mă|sună-mă|suna-mă|apelați|număr de telefon|numărul meu|contact|găsiți|mă găsiți|mă găsești|contactați|telefonul meu|mobilul meu|număr mobil|nr tel|apelați la|sunaţi',
  ru: 'звоните|позвони|позвоните|мой номер|номер телефона|по номеру|контактный номер|контакты|набери|наберите|перезвоните|пишите на|звонить|позвонить|созвон|мой телефон|мой сотовый|тел сот|для связи|связаться|телефоны|сот тел|номер тел|моб тел|тел моб',
  sk: 'volajte|zavolajte|zavolaj|telefónne číslo|číslo|volat|volať|môj mobil|moje číslo|kontaktný telefón|kontaktné číslo',
  sl: 'pokličite|pokliči me|telefonska številka|pokličite na',
  sq: 'telefononi|numri i telefonit|më telefono',
  sr: 'позовите|позови ме|број телефона|pozovite|pozovi me|broj telefona|контакт телефон|мој број|мобилни телефон|контакт|kontakt telefon|mobilni telefon',
  sv: 'ring mig|ring oss|ring till|ring på|nås på|når mig på|mitt nummer|kontakta mig|ring|når du mig|du når mig|hemtelefon|arbetstelefon|mobilnr|mitt mobilnummer|ring gärna',
  sw: 'piga simu|nipigie|nambari ya simu',
  ta: 'தொலைபேசி எண்|கைபேசி எண்|அழைக்கவும்',
  te: 'ఫోన్ నంబర్|మొబైల్ నంబర్|కాల్ చేయండి',
  th: 'ติดต่อ|ติดต่อที่|โทรหา|โทรมา|เบอร์ติดต่อ|เบอร์มือถือ|หมายเลขโทรศัพท์|เบอร์ติดต่อกลับ|เบอร์ของฉัน|โทรกลับ|โทรสอบถาม|สอบถาม',
  tr: 'beni ara|beni|bizi arayın|arayın|arayabilirsiniz|telefon numarası|telefon numaram|numaram|ulaşabilirsiniz|iletişim|cep telefonu|tel no|telefonum|aramak için|ara beni|cep no|irtibat|irtibat no|telefonumuz|whatsapp hattı|numaramız',
  uk: 'телефонуйте|дзвоніть|подзвоніть|зателефонуйте|мій номер|номер телефону|за номером|контакти|набери|дзвонити|подзвонити|мій телефон|для зв’язку|для звʼязку|телефони|моб тел|конт тел',
  ur: 'موبائل نمبر|فون نمبر|رابطہ|رابطہ نمبر|کال کریں',
  uz: 'telefon raqami|qoʻngʻiroq qiling|bogʻlanish',
  vi: 'số điện thoại|gọi cho|liên hệ|gọi số|gọi ngay|điện thoại|gọi|nhắn|số máy|số của tôi|zalo|liên lạc|máy bàn|di động',
  zh: '請撥打|撥打|請致電|请拨|请来电|請來電|请拨打|打电话|我的电话|我的手机|我的号码|电话号码|手机号码|聯絡方式|联系我|请联系|咨询|打給我|打给我|手机号|电话是|手机是|号码是|联络电话|客服电话|服务热线|办公电话|家庭电话|紧急联系人|微信|打我|请打|手提|手提電話|電話號碼|手機號碼|連絡電話|聯絡人',
}
/** Words that people use before a number and for other things as well; after them the number must have the form of a phone number. */
const ambiguous =
  'call dial text ring reach contact contacts kontakt anruf связь контакт للتواصل التواصل راسل port nr wa hp h.p раб дом fon standard bel t: m: p: f: číslo contacte iletişim kontak контакты контакті за връзка επικοινωνία αριθμός консультация 문의 咨询 お問い合わせ elérhető telefonon tavoittaa संपर्क যোগাযোগ ติดต่อ رابطہ للاستفسار للحجز kontaktai bogʻlanish байланыс direct numéro 直通 代表 内線 联系人 همراه نقال محمول'

const byLanguage = [
  ...Object.values(nouns).flatMap((words) => words.split(' ')),
  ...Object.values(invitations).flatMap((words) => words.split('|')),
]
const unclear = new Set([
  ...ambiguous.split(' '),
  'liên hệ',
  'رقم',
  'नंबर',
  '微信',
  '咨询',
  'zalo',
  '폰',
  'ج:',
  'هـ:',
  'spojení',
  'ring',
  'ringe',
  'irtibat',
  'для связи',
  'available on',
  'my line',
  'leave a message',
  'contact us',
  'kontakt os',
  'kontakt oss',
  'contact details',
  'sel',
  'beni',
])
export const phoneCues: readonly string[] = [...new Set([...byLanguage, ...unclear])].filter((word) => word.length > 1)
/** Whether a word also has other meanings. */
export const isAmbiguousCue = (word: string): boolean => unclear.has(word)

const letter = /\p{L}/u
/** Whether the unit at an offset is a letter; false outside of the text. */
function isLetterAt(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return code < 128 ? (code | 32) > 96 && (code | 32) < 123 : letter.test(text.charAt(at))
}
const wide = /[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]/
/** The rest of a compound: `Handynummer`, `Telefonnr.`, `telefonszám`, `puhelinnumero`, `phonenumber`; and inflections. */
const compound =
  /^(?:s?nummer|tlf|tel|telefon|telefonnummer|fon|puh|puhelin|nr|no|num|number|numero|nummeret|szám|száma|numarası|number|номер|зв|е|у|а|ом|en|et|i|a|em|u|s|es|oon)(?!\p{L})/iu
/**
 * Whether the cue from `start` to `end` is a separate word or part of an identifier (`phone_number`, `homePhone`, not `string`), or the stem of a
 * longer word.
 */
export function cueAt(text: string, start: number, end: number): 'word' | 'stem' | undefined {
  if (isWordCue(text, start, end)) return 'word'
  if (end - start < 5) return undefined
  const isStem = !letter.test(text.charAt(start - 1)) && stemEnd.test(text.slice(end, end + 14))
  return isStem || isLastPart(text, start, end) ? 'stem' : undefined
}
/** Whether the cue is the last part of a compound: `Hemtelefon`, `Diensthandy`. `phone` is not in the list because of `microphone`. */
const isLastPart = (text: string, start: number, end: number): boolean =>
  composing.test(text.slice(start, end)) &&
  !letter.test(text.charAt(end)) &&
  /(?<!\p{L})\p{L}\p{Ll}{1,14}$/u.test(text.slice(Math.max(0, start - 16), start))
const composing = /^(?:telefon|telefoon|handy|mobil|puhelin|telefonnummer|mobilnummer|handynummer|telefonnr|telnr)$/i
/** The rest of an inflected or composed form: `telefonszámom`, `Telefonisch`, `Mobiltelefon`. */
const stemEnd = /^(?!ity|ize|ise|ephon|y)\p{Ll}{1,10}[.:]?[\s:：.]/u

function isWordCue(text: string, start: number, end: number): boolean {
  const [before, first, last, after] = [
    text.charAt(start - 1),
    text.charAt(start),
    text.charAt(end - 1),
    text.charAt(end),
  ]
  if (first > '\u0dff' && wide.test(first)) return true
  // `T: 01 42 …` in a signature.
  if (end - start === 2 && last === ':')
    // In code, the short name of a field precedes a literal: `p: '0306406152'`.
    return /^$|[\s|,;/>]/.test(before) && !(/^p$/i.test(first) && /^\s?["'\x60[{]/.test(text.slice(end, end + 2)))
  const begins =
    !isLetterAt(text, start - 1) ||
    (/\p{Ll}/u.test(before) && /\p{Lu}/u.test(first)) ||
    // An escaped line end, and Arabic and Hebrew prefixes.
    (/[nrt]/.test(before) && text.charAt(start - 2) === '\\') ||
    (/[\u0590-\u06ff]/.test(before) && end - start > 2)
  // A subject of arXiv: `hep-ph/0402063`.
  if (!begins || (before === '-' && after === '/')) return false
  return (
    !isLetterAt(text, end) ||
    (/\p{Ll}/u.test(last) && /\p{Lu}/u.test(after)) ||
    wide.test(after) ||
    compound.test(text.slice(end, end + 12))
  )
}

/** Words between a cue and its number. */
const introducers =
  'number numbers num no nr nro nrs nbr nº numéro numero número nummer numer numeris numura numărul numarası szám száma номер номера номеру 番号 号码 號碼 번호 номер home work office mobile mob main phone tel cell fax direct business personal private day evening emergency customer service support line cel celular fijo movil móvil privat geschäftlich dienstlich büro zentrale travail bureau domicile casa trabajo ufficio lavoro thuis werk hjem jobb arbete työ domů dom praca me us him her them you back is at on to was now the this our my your today war ist unter an auf mich uns est au sur le la les moi es al el en a é o os para è il là em ao nosso meu sua seu são er på til är till deres on numero numerolla jest pod od je na számon az egy este la numărul по на или или мой ваш наш είναι στο αριθμός numarası numara bana bizi 是 为 為 は が は、 に 에 는 은 이 로 으로 رقم على الرقم هو رقمي של הוא מספר שלי पर है नंबर संख्या नम्बर नंबर: คือ ที่ หมายเลข เบอร์ số là nomor no nomer adalah di number: и i y e und et and or oder ou ή و או या หรือ hoặc atau ve 또는 または 或 xin lòng vui điện thoại động di nhà res com cel part casa comercial residencial čísle číslo čísla cislo numeroon numeroni numrin numri broj broja številka številki številko нөмірі номері номером за тел нам мне мені ми uns mij meg mig mir meinem my ons op på í til naar unter oder auch sous jusqu du de des do da dos del della dello allo alla au aux à al zu den der die das dem im an am bei ved hos hjemme arbeid privé zakelijk werk kontakt kontaktowy kontaktní contact contacto contato επικοινωνίας επικοινωνία οικίας εργασίας για ή τηλ κιν نمبر نمبرः تماس من با ثابت همراه منزل محل کار شماره ما رقم جوال بنا بي عبر هو هي لي মোবাইল নম্বর নাম্বার নং ফোন নাম্বারে क्रमांक नंबर: पर कॉल करें मेरा हमारा हमें मुझे எண் நம்பர் నంబర్ నెంబర్ numri numeris numeriu numurs numuru numarası numaram numaramız numaralı nolu hattı üzerinden için ruhu raqami szám számom számunk számon mobilom a az telefonom alábbi mobilszám nomor nombor saya kami kantor rumah nhà riêng cơ quan tôi cho cá nhân simu ya yangu yetu namba nambari número meu minha meo seu celular fixo trabalho travail perso pro personnel bureau ufficio abitazione privato mio nostro mitt vårt vores mit mitt vårt min minun työ koti kotona oma na at or via using through between anytime today tonight tomorrow directly please anytime: us: direkt gerne bitte jederzeit abends telefonisch mobil handy dienst festnetz also der die nr'
const introducing = new Set(introducers.split(' ').map((word) => word.replace(/[:、]$/, '')))
const wordIn = /\p{L}[\p{L}\p{M}’'ºº]*/gu
/** Maximum characters between a cue and its number. */
export const cueReach = 40
const maxWords = 5

/** So many signs in a row separate a number from its cue. */
const fewestSigns = 13
const digitsAndSigns = /^[\d :.,()+/-]+$/
/** Whether only signs and words that usually introduce a number are between the cue and the number. */
export function leadsToNumber(written: string): boolean {
  if (written === '' || written === ' ' || written === ': ' || /^[ :.-]{1,3}$/.test(written)) return true
  if (written.length < fewestSigns && digitsAndSigns.test(written)) return !/\d\d/.test(written)
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
    if (words > maxWords) return false
    const lower = word.toLowerCase()
    // Han, kana, hangul and Thai do not separate words.
    if (!introducing.has(lower) && !cueSet.has(lower) && !tag.has(lower) && !wide.test(lower)) return false
    if (wide.test(lower) && lower.length > 6) return false
  }
  return true
}
const cueSet = new Set(phoneCues)

/** A few words of one sentence, without digits, code and names of other numbers. */
const fewWords =
  /^(?:[-/.:°º'’"]{0,2}[ \u00a0]?\(?[\p{L}\p{M}’'ʻ/-]{1,16}[.)]{0,2}[ \u00a0]?){1,4}[ \u00a0]?[:：–—-]?[ \u00a0]?$/u
const otherNumbers =
  /\p{L}[.!?]\s+\p{Lu}|(?<!\p{L})(?:order|invoice|version|model|case|ticket|ref|reference|id|serial|isbn|ean|vat|tax|price|account|iban|bank|date|year|since|build|port|size|width|height|row|line|page|step|count|total|sum|max|min|stack|trace|bestell\p{L}*|rechnung\p{L}*|konto\p{L}*|commande|facture|pedido|factura|fattura|заказ\p{L}*|счет\p{L}*|订单|账号|帳號|卡号|金额)(?!\p{L})/iu
/** Whether a number with the form of a phone number may follow the cue after other words: `telefonul meu este …`. */
const mayLeadToNumber = (written: string): boolean =>
  written.length <= 36 && fewWords.test(written) && !otherNumbers.test(written)
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

/** The last word before a number that announces one. */
export interface PhoneCue {
  /** End of the word; -1 without one. */
  end: number
  /** Whether the word also has other meanings. */
  isAmbiguous: boolean
}

const extension =
  /[ ,;]{0,2}(?:x|ext\.?|extension|durchwahl|poste|int\.|anexo|ramal|доб\.?|分机|内線)[ .:]?\d{1,6}(?!\d)/iy
const day = '(?:0?[1-9]|[12]\\d|3[01])'
const month = '(?:0[1-9]|1[0-2])'
const date = new RegExp(
  `^\\(?(?:(?:19|20)\\d\\d(?:[-/. ]0?[1-9]|[-/. ]1[0-2])[-/. ]${day}|(?:19|20)\\d\\d${month}${day}|${day}[-/. ]${day}[-/. ](?:19|20)\\d\\d|${day}[-/.]${day}[-/.]\\d\\d(?![-/. ]\\d\\d(?!:)))(?!\\d)`,
)
/** A range of years, a time after a year. */
const years = /^(?:19|20)\d\d ?[-/–—] ?(?:(?:19|20)\d\d|\d\d(?!\d| \d))/
/** The number of a law: `Lei 14.534/2023`. */
const law = /^\d{1,3}(?:\.\d{3})+\/(?:19|20)\d\d(?!\d)/
/** A count rather than a phone number: long and in one piece without a leading zero, or a round number. */
const counted = /^[1-9]\d{11,}$|0{6}$|^00\d{0,2}0{4}$/
/** Digits that documentation uses: rising digits, one digit repeated, the numbers of the USA that are reserved for fiction. */
const rising = /^[01]?(?:12345678|98765432)/
/** Numbers that Ofcom, Arcep and ACMA reserve for fiction. */
const fictional =
  /^(?:0|0?0?44\(?0?\)?)(?:207946|1(?:1[3-8]|21|31|41|51|61)496|1914980|1632960|7700900|8081570|9098790|3069990)\d{3,4}$|^(?:0|33)(?:1990|2619|3531|4657|5363|6399)\d{5}$|^(?:0|61)(?:[2378](?:5550|7010)\d{4}|49157\d{4})$/
const isPublishedNumber = (digits: string): boolean =>
  (/[26]345|[68]765|555/.test(digits) && isSample(digits)) ||
  fictional.test(digits) ||
  (digits.charCodeAt(digits.length - 1) === digits.charCodeAt(digits.length - 2) &&
    digits.endsWith(digits.charAt(digits.length - 1).repeat(7)))
const isSample = (digits: string): boolean =>
  rising.test(digits) ||
  /^\d{2,4}12345678$|123456789$|^1?555\d{7}$|^555\d{4}$|^555123\d{3}$/.test(digits) ||
  (digits.startsWith('55501', digits.length - 7) && isAmericanForm(digits.slice(-10)))

function withExtension(text: string, end: number): number {
  const code = text.charCodeAt(end)
  // An extension begins with a space, a sign, x or e, or with a letter of another script.
  if (code !== 32 && code !== 44 && code !== 59 && (code | 32) !== 120 && (code | 32) !== 101 && !(code > 127))
    return end
  extension.lastIndex = end
  return end + (extension.exec(text)?.[0].length ?? 0)
}

const isSeparator = (code: number): boolean =>
  code === 32 ||
  (code > 39 && code < 42) ||
  (code > 44 && code < 48) ||
  code === 0xa0 ||
  code === 0x202f ||
  (code > 0x200f && code < 0x2014)

/** Digit groups from a position: the digits, and for each group its end and the number of digits up to it. */
interface Groups {
  digits: string
  ends: number[]
  counts: number[]
  /** Separators between the groups: `gaps[n]` precedes group n + 1. */
  gaps: string[]
  /** Index of the last group of the first line. */
  lineEnd: number
}
const maxDigits = 17
/** Reads digit groups with at most three separators between them. With `isWrapped`, a number may continue in the next line. */
function groupsAt(text: string, start: number, isWrapped: boolean): Groups | undefined {
  const groups: Groups = { digits: '', ends: [], counts: [], gaps: [], lineEnd: -1 }
  const first = text.charCodeAt(start)
  let at = first === 43 || first === 40 ? start + 1 : start
  if (first === 43 && text.charCodeAt(at) === 40) at += 1
  while (groups.digits.length < maxDigits) {
    const from = at
    while (isDigit(text, at)) at += 1
    if (at === from) break
    if (at - from > maxDigits) break
    groups.digits += text.slice(from, at)
    groups.ends.push(at)
    groups.counts.push(groups.digits.length)
    const gap = at
    let signs = 0
    while (signs < 4 && isSeparator(text.charCodeAt(at))) {
      at += 1
      signs += 1
    }
    if (isWrapped && /[\r\n]/.test(text.charAt(at))) {
      const line = /^\r?\n[ >*]{0,6}(?=\d)/.exec(text.slice(at, at + 10))?.[0]
      if (line === undefined) break
      groups.lineEnd = groups.ends.length - 1
      at += line.length
    }
    if (at === gap || !isDigit(text, at)) break
    groups.gaps.push(text.slice(gap, at))
  }
  return groups.digits.length < 7 ? undefined : groups
}

const maxEnds = 6
/** End of the longest valid phone number: drops trailing groups until the rest is valid. */
function callable(
  text: string,
  start: number,
  { digits, ends, counts, lineEnd }: Groups,
  isNumber: (digits: string) => boolean,
): { end: number; digits: string; isCut: boolean } | undefined {
  // A national prefix in brackets after a calling code is not dialled with the code.
  const shown =
    text.charCodeAt(start) === 43 ? /^\+\d[\d ]{0,3}\(0\)/.exec(text.slice(start, start + 9))?.[0] : undefined
  const skipped = shown === undefined ? 0 : shown.replace(/\D/g, '').length
  const isOpened = text.charCodeAt(start) === 40
  for (let tried = lineEnd >= 0 ? -1 : 0, group = ends.length - 1; tried < maxEnds && group >= 0; tried++) {
    const index = tried < 0 ? lineEnd : group
    if (tried >= 0) group -= 1
    const count = counts[index] ?? 0
    const end = ends[index] ?? 0
    if (count < 7) break
    if (count > 15) continue
    if (isAlphanumeric(text, end) && !/^(?:x|ext)/i.test(text.slice(end, end + 3))) {
      // The next word may begin without a gap: `+4930…Fax`.
      if (text.charCodeAt(start) !== 43 || !/^[A-Z][a-z]/.test(text.slice(end, end + 2))) continue
    }
    if (isOpened && !text.slice(start, end).includes(')')) continue
    const dialled = skipped > 0 ? digits.slice(0, skipped - 1) + digits.slice(skipped, count) : digits.slice(0, count)
    if (isNumber(dialled)) return { end, digits: dialled, isCut: index < ends.length - 1 }
  }
  return undefined
}
function phone(text: string, start: number, end: number, digits: string, score: number): SensitiveFinding {
  const found = finding('phone', start, withExtension(text, end), score)
  return isPublishedNumber(digits) ? lowConfidence(found) : found
}

/** A word before a plus sign without a gap: `Tel+4930…`. */
const gluedCue = /(?:^|[^A-Za-z])(?:tel|phone|telephone|mobile?|cell|fax|whatsapp|sms|call|fon|telefon)$/i
/** Addresses of services that end in a number with its country code. */
const inAddress = /(?:wa\.me\/|send\/?\?phone=)$/

/** ITU-T E.164: the valid international number after this `+`. */
export function internationalAt(text: string, at: number): SensitiveFinding | undefined {
  if (text.charCodeAt(at - 1) === 43) return undefined
  if (isAlphanumeric(text, at - 1) && !gluedCue.test(text.slice(Math.max(0, at - 12), at))) return undefined
  if (!isDigit(text, at + 1) && text.charCodeAt(at + 1) !== 40) return undefined
  // A sum: `n[0]+3614090360`.
  if (text.charCodeAt(at - 1) === 93 && /(?:^|\W)\w\[\d{1,3}\]$/.test(text.slice(Math.max(0, at - 15), at)))
    return undefined
  const groups = groupsAt(text, at, true)
  if (
    groups === undefined ||
    isDecimal(groups) ||
    (groups.gaps.slice(0, 2).every((gap) => gap === '.') && groups.gaps.length === 1)
  )
    return undefined
  // `+(1/24/60)` is arithmetic.
  if (text.charCodeAt(at + 1) === 40 && groups.gaps.filter((gap) => gap === '/').length > 1) return undefined
  const found = callable(text, at, groups, isInternationalNumber)
  return found && phone(text, at, found.end, found.digits, 0.95)
}

const american =
  /(?:(?:00)?1[ .\u2010-\u2013-]{1,2})?(?:\([2-9]\d{2}\)[ \u00a0.\u2010-\u2013-]{0,2}|[2-9]\d{2}[ \u00a0.\u2010-\u2013-]{1,2})[2-9]\d{2}[ \u00a0.\u2010-\u2013-]\d{4}(?!\d|[-.]\d)/y
const chinese = /1[3-9]\d[ -]?\d{4}[ -]?\d{4}(?!\d|[-.]\d)/y

/** An integer that a program assigns: `const bytes = 15032385536;`. */
const isLiteral = (text: string, start: number, end: number): boolean =>
  text.charCodeAt(end) === 59 && /[^=]=\s?$/.test(text.slice(Math.max(0, start - 4), start))
/** A quantity in a program or its data: a factor, a term, a value of a field for sizes. */
const isQuantity = (text: string, start: number, end: number): boolean =>
  /^ ?(?:\*(?!\*)|\^|\/(?= ?[\d.(])(?!\d{11}))/.test(text.slice(end, end + 13)) ||
  /(?:[=(,] ?-|(?<!\*)\* ?|\^ ?|(?:value|size|bytes|count|total|amount|limit|memory|capacity|length|offset|time|stamp|sum|max|min|quota)["']?\s?[:=]\s?["']?)$/i.test(
    text.slice(Math.max(0, start - 16), start),
  )
/** A count that a line of a program or a report gives to a name: `TotalMemory = 17078214656`. */
const isCount = (text: string, start: number): boolean => /[\w\])] = $/.test(text.slice(Math.max(0, start - 4), start))
/** A range of round numbers: `800-1200`. */
const roundRange = /^[1-9]\d?00 ?[-–] ?[1-9]\d{1,2}00(?!\d)/
/** The number of a release, which people also give in support. */
const version = /^\d{1,3}\.\d{1,3}\.\d{4,6}(?![\d.])/
/** Four parts of a release with a single digit, which may also be a telephone number. */
const release = /^[1-9]\d?\.\d{1,2}\.\d\.\d{1,6}(?![\d.])/

/** The address of a page before the number that identifies it: `https://forum.host/topic/`. */
const ofPage =
  /https?:\/\/[^\s"'<>]{3,100}\/(?:topics?|threads?|questions?|status(?:es)?|issues?|comments?|posts?|articles?|news|videos?|items?|products?|releases?|assets|builds?|runs?|jobs?|pages?|[adq])\/$/i

/** Words for numbers of programs: `hash: 15926535897`, `seed = 18612345670`. */
const numberName =
  /(?:^|[^A-Za-z])(?:(?:hash|seed|prime|modulus|crc\d{0,2}|checksum|nonce|epoch|bits|mask|flags?|ticks?|nanos?|cycles|ptr)["']?\s?[:=]\s?["']?|(?:offset|byte|position) )$/i
/** Functions of numbers. */
const numberFunction =
  /(?:^|[^\w$])(?:hash|seed|srand|rand|random|mix|mod|pow|sqrt|abs|crc\d{0,2}|checksum|bigint|u?int\d{0,2}|is_?prime)\($/i
/** Words near a list whose numbers may be those of people: `INSERT INTO users VALUES (1, 13…, 30)`, `to: [13…, 5]`. */
const ofPeople =
  /(?:phone|mobile|cell|tel|sms|call|dial|contact|customer|user|people|person|member|employee|recipient|notify|send|whatsapp|wechat|insert|values|name|(?:^|[^a-z])(?:to|from|cc|who))/i
/**
 * Whether a number in one piece, without a word for telephones before it, is an element of a list of small integers, an operand or an argument
 * of a function of numbers, or the value of a name for other numbers. It may be a telephone number all the same.
 */
function mayBeInteger(text: string, start: number, end: number): boolean {
  const before = text.slice(Math.max(0, start - 120), start)
  if (numberName.test(before.slice(-24))) return true
  const after = text.slice(end, end + 80)
  if (numberFunction.test(before.slice(-24))) return /^\s{0,4}[),]/.test(after)
  // `[7, 13…, 5]`: other numbers of the list with more digits may be those of telephones.
  const first = /[[(]\s{0,8}((?:-?\d{1,6}\s{0,4},\s{0,8}){0,12})$/.exec(before)
  const last = /^((?:\s{0,4},\s{0,8}-?\d{1,6}){0,12})\s{0,4}[\])]/.exec(after)
  if (first && last && `${first[1]}${last[1]}` !== '')
    return !ofPeople.test(before.slice(Math.max(0, first.index - 48), first.index))
  return /[\w\])]\s?[*%^&|<>]=?\s?$/.test(before) && /^\s{0,4}[;)]/.test(after)
}

/** 2 ** 34 has the form of a mobile number of mainland China. */
const powerOfTwo = '17179869184'

function americanAt(text: string, place: number, isCalled: boolean): SensitiveFinding | undefined {
  american.lastIndex = place
  const written = american.exec(text)?.[0]
  if (written === undefined) return undefined
  const end = place + written.length
  if (isAlphanumeric(text, withExtension(text, end))) return undefined
  const digits = written.replace(/\D/g, '').slice(-10)
  const isShaped = /[-.(]/.test(written) && isAmericanForm(digits)
  // Three numbers in a row: a decimal, a column, a path of a drawing.
  const isRow = !isCalled && !/^\(/.test(written) && isInRow(text, place, end)
  const isOne = isCalled || (isShaped && !isRow) || (!isRow && (isNumberIn('US', digits) || isNumberIn('CA', digits)))
  if (!isOne) return undefined
  const found = phone(text, place, end, digits, 0.85)
  return isCalled && isFollowedByNumber(text, written, end) ? lowConfidence(found) : found
}
/** Whether the number is in groups separated by spaces only, and another short group follows: sizes of screens, a row of counts. */
const isFollowedByNumber = (text: string, written: string, end: number): boolean =>
  /^[1-9]\d*(?: \d+)+$/.test(written) && /^ \d{3,6}(?![\d-]| \d)/.test(text.slice(end, end + 9))
/** Whether another number stands directly before or after, separated by a space or a comma only. */
const isInRow = (text: string, start: number, end: number): boolean =>
  /\d[,.]? {1,2}$|[-+]$/.test(text.slice(Math.max(0, start - 4), start)) ||
  /^,? {1,2}[-+]?\d/.test(text.slice(end, end + 4))

/** Whether the digits are decimals: one dot, or dots beside spaces (`212.7 26.8`). */
function isDecimal({ digits, gaps, counts }: Groups): boolean {
  const dots = gaps.filter((gap) => gap === '.').length
  if (dots === 0) return false
  if (counts[0] === 1 && gaps[0] === '.') return true
  if (gaps.length === 1)
    return (!digits.startsWith('0') && (counts[0] ?? 0) < 3) || digits.startsWith('00') || counts[0] === 1
  return dots < gaps.length && gaps.some((gap) => /^[ \u00a0]+$/.test(gap))
}
/** Whether most groups have one digit, as in a row of numbers. */
const isRowOfDigits = ({ counts }: Groups): boolean =>
  counts.length > 3 && counts.filter((count, at) => count - (counts[at - 1] ?? 0) === 1).length * 2 > counts.length

/** Whether the number has the form of a phone number by itself: a trunk prefix, brackets, several groups, or the length of a mobile's. */
const hasForm = (text: string, from: number, { digits, gaps }: Groups, end: number): boolean =>
  text.charCodeAt(from) === 40 ||
  (digits.startsWith('0') && !digits.startsWith('000')) ||
  (/^(?:[6-9]\d{9}|1[3-9]\d{9}|8\d{10}|7\d{10}|380\d{9})$/.test(digits) && gaps.length === 0) ||
  (gaps.length >= 2 && digits.length >= 9 && !/[a-z%]/i.test(text.charAt(end)))

/** A national number without a code: in US notation, a mainland Chinese mobile, or another country's after a cue. */
export function nationalAt(text: string, start: number, length: number, cue: PhoneCue): SensitiveFinding | undefined {
  const from = text.charCodeAt(start - 1) === 40 ? start - 1 : start
  const lead = text.charCodeAt(start)
  if (lead === 49 && (length === 3 || length === 7 || length === 11)) {
    chinese.lastIndex = start
    const written = chinese.exec(text)?.[0]
    if (written !== undefined && !isAlphanumeric(text, start + written.length)) {
      const digits = written.replace(/\D/g, '')
      const isNoPhone =
        ofPage.test(text.slice(Math.max(0, start - 120), start)) ||
        isLiteral(text, start, start + written.length) ||
        ((cue.end < 0 || start - cue.end > 3) && isCount(text, start)) ||
        ((cue.end < 0 || start - cue.end > 24) && isQuantity(text, start, start + written.length))
      if (isNumberIn('CN', digits) && digits !== powerOfTwo && !isNoPhone) {
        const end = start + written.length
        const found = phone(text, start, end, digits, 0.85)
        const isBare = length === 11 && (cue.end < 0 || start - cue.end > cueReach)
        return isBare && mayBeInteger(text, start, end) ? lowConfidence(found) : found
      }
    }
  }
  const isNear = cue.end >= 0 && from - cue.end <= cueReach
  const between = isNear ? text.slice(cue.end, from) : ''
  const isLed = isNear && leadsToNumber(between)
  const isCalled = isLed || (isNear && mayLeadToNumber(between))
  // In an object after the cue, a number may be anything.
  const isAmbiguous = cue.isAmbiguous || between.includes('{') || (!isLed && !/[:：]\s?$/.test(between))
  if (length === 3 || (length === 1 && lead === 49)) {
    const found =
      americanAt(text, from, isCalled && !isAmbiguous) ??
      (from === start ? undefined : americanAt(text, start, isCalled && !isAmbiguous))
    if (found) return found
  }
  if (lead > 48 && inAddress.test(text.slice(Math.max(0, start - 12), start))) {
    const digits = text.slice(start, start + length)
    if (isInternationalNumber(digits)) return phone(text, start, start + length, digits, 0.9)
  }
  if (!isCalled) return undefined
  const groups = groupsAt(text, from, false)
  if (groups === undefined || isDecimal(groups) || isRowOfDigits(groups)) return undefined
  const last = groups.ends.at(-1) ?? from
  const written = text.slice(from, last)
  // A date begins with one or two digits or a year; the others begin with another digit than zero.
  const isLong = lead === 48 && isDigit(text, start + 1) && isDigit(text, start + 2)
  const isLaw = law.test(written) && from - cue.end > 3
  if (!isLong && (date.test(written) || years.test(written) || isLaw || roundRange.test(written))) return undefined
  if (groups.digits.startsWith('00')) {
    const found = callable(text, from, groups, (digits) => isInternationalNumber(digits.slice(2)))
    if (found) return phone(text, from, found.end, found.digits, 0.85)
  }
  if (isAmbiguous && (version.test(written) || !hasForm(text, from, groups, last))) return undefined
  const found = callable(text, from, groups, (digits) => !counted.test(digits) && isNationalNumber(digits))
  // A cut number after an ambiguous word is a row of numbers.
  if (found === undefined || (isAmbiguous && found.isCut)) return undefined
  // The form of a Brazilian postal code, whose name is the Turkish word for a mobile telephone.
  if (/^\d{5}-\d{3}$/.test(written) && /(?<!\p{L})cep$/iu.test(text.slice(Math.max(0, cue.end - 4), cue.end)))
    return undefined
  const called = phone(text, from, found.end, found.digits, 0.75)
  const isDoubtful =
    (isAmbiguous && release.test(written)) ||
    (found.isCut && isFollowedByNumber(text, text.slice(from, found.end), found.end))
  return isDoubtful ? lowConfidence(called) : called
}
