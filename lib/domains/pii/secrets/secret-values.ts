import { isDrawn, isSequence } from './vendor-keys.ts'

/**
 * An expression instead of a literal value: a member (`process.env.DB_PASSWORD`, `config.token.value2`), a word or a name of a variable
 * (`getToken1`, `new_password`), a name of an environment variable. Generated secrets do not look like this.
 */
const member = /^[a-z_$][\w$]{0,40}!?(?:(?:\??\.|::|->)[a-z_$][\w$]{0,40})+$/i
const word = /^[a-z]+(?:[A-Z]{1,3}[a-z]+)*\d{0,2}$|^(?:[A-Z]+[a-z]+)+\d{0,2}$|^[a-z]+(?:[_-][a-z]+)*[_-]?\d{0,2}$/
const environmentName = /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/
const typeName =
  /^(?:u?int\d{1,3}|float\d\d|uint8array|[a-z]*8array|utf-?\d{1,2}\w*|sha-?\d{1,3}\w*|rfc-?\d{3,5}|base-?\d\d\w*|md5\w*|[rhep]s\d{3}|aes-?\d{3}\S*|argon2\w*|bcrypt\w*|pbkdf2\S*|oauth2?\S*|ed25519\w*|x25519\w*|secp\d{3}\w\d|http2|ipv[46]|win32|x86\S*|\d{1,3}-?(?:bit|char|byte|digit)\S*|[a-z]+\d\.x|iso-?8859-\d{1,2}|windows-?(?:874|125\d)|cp-?(?:437|[89]\d\d|12\d\d)|koi8-?[ru]|3des-(?:cbc|ecb|ede)\S*|(?:ar|en|es)-\d{3}|(?:uniform(?:matrix)?|vertexattrib|[bi]?vec|d?mat)[1-4](?:x[2-4])?(?:u?[ifs]v?)?)$/i
/** An expression of a program without quotes: `value=other=null`, `config.password??null`, `propValue$204`. */
const expression =
  /^[A-Za-z_$][A-Za-z_$.]*(?:\$\d+)?(?:={1,3}!?[\w$]|!==[\w$]|\?\?|&&|\|\|)|^[a-z]+[A-Z]\w*\$\d+$|^[\w$.]+\?[\w$.!()]+:[\w$.]|^[a-z]+(?:_[a-z]+)*=$|^[A-Z]\d=\d{1,3}%?$|^[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)+[-+*/]\d+$/
/** Signs without one of which a value is no {@link expression}. */
const signOfExpression = /[-=?&|$+*/]/
/** Placeholders of translators, patterns of numbers and characters, digests: practically never a part of a secret. */
const marker =
  /crwdn[se]\d{2}|#,##0|^[#0,.;()¤%]+$|a-zA-Z|A-Za-z|[Aa]-[Zz]0-9|0-9[Aa]-[FfZz]|%\([\w.]{1,40}\)[a-z]|^sha\d{1,3}:[\da-f]{32,128}$/

/**
 * What files of messages, styles and settings have in place of a text: rules of validators, classes and functions of style sheets, media
 * types, names of messages and migrations, limits, code points of emoji, and longer expressions. A password may look like this.
 */
const standIns = [
  String.raw`^[a-z_]{2,20}(?::[\w,.]+)?(?:\|[a-z_]{2,20}(?::[\w,.]+)?)+$`,
  String.raw`^(?:i18n|msg|mdi|sha\d{1,3}|icon|lucide|i-[a-z]+|untranslated|UNTRANSLATED|todo|TODO):`,
  String.raw`^(?:text|bg|border|ring|fill|stroke|from|to)-(?:gr[ae]y|slate|zinc|neutral|stone|red|orange|amber|yellow|lime|green|emerald|teal|cyan|sky|blue|indigo|violet|purple|fuchsia|pink|rose|primary|secondary|danger|success|warning|info)-\d{2,3}$`,
  String.raw`^(?:ic|icon)[-_](?:\d{2,3}|[a-z]+(?:[-_][a-z]+)*(?:[-_]\d\d(?:px|dp))?)$|^[a-z]+(?:_[a-z]+)*_\d\dpx$`,
  String.raw`^(?:calc|rgba?|hsla?|clamp|translate|cubic-bezier|linear-gradient)\(|^(?:var|url)\([^)]*\)$`,
  String.raw`^(?:application|image|audio|video|font|multipart)/[a-z\d.+-]+|^text/(?:plain|html|css|csv|xml|markdown|javascript|x-[a-z-]+)`,
  String.raw`^(?:msg|message|string|txt|err|error|lbl|label)[-_]\d{2,}(?:[-_](?:pwd?|pass(?:word|wd)?|key|token|secret|code|auth))+$`,
  String.raw`^00\d\d(?:_[a-z]+)+\d{0,2}$`,
  String.raw`^(?:[a-z]+_)*(?:password|passwd|key|token|secret)_\d{1,2}(?:_[a-z]+)+$`,
  String.raw`^\d+/[smhd](?:/[a-z]+)*(?:,\d+/[smhd](?:/[a-z]+)*)*$`,
  String.raw`^[\w$.]+[:?][A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)+\+?=[\w$.!]*$`,
  String.raw`^(?:\d{1,3}:)?[A-Za-z$_][A-Za-z$_.:?]*={2,3}!?[\w$]|^\d{1,3}:[A-Z]+={2,3}\d`,
  String.raw`^[A-Z]{2}={2,3}\d{1,3}[?:]`,
  String.raw`^(?:return|typeof|void|new|await|function|if|throw)(?:[(;{[]|![\w$]+[.(=])`,
  String.raw`^\d[\d.]*\*{1,2}[a-z]\w*\.[\w.]+$`,
  // Numbers of vulnerabilities and advisories.
  String.raw`^(?:CVE|CWE|GHSA|RHSA|USN|DSA|CAPEC|PYSEC|RUSTSEC|GO|BDU|JVNDB|CNVD|CNNVD)-\d{2,4}(?:-\d{2,8}){0,2}$|^GHSA(?:-[a-z\d]{4}){3}$`,
]
const standIn = new RegExp(standIns.join('|'))
const codePoints =
  /^(?:1F[\dA-F]{3}|[23][\dA-F]{3})(?:-(?:1F[\dA-F]{3}|FE0F|200D|20E3|[23][\dA-F]{3}))+$|^(?:1f[\da-f]{3}|[23][\da-f]{3})(?:-(?:1f[\da-f]{3}|fe0f|200d|20e3|[23][\da-f]{3}))+$/
/** Whether the value is a regular expression for whole texts. */
const isPattern = (value: string): boolean =>
  value.startsWith('^') && value.endsWith('$') && /\[[^[\]]{1,80}\]|\\/.test(value)
/** Whether nearly all letters of a word for a secret have accents: a language that exists for tests of translations only. */
function isAccented(value: string): boolean {
  const accented = value.match(/[^\0-\x7f]/g)?.filter((sign) => /\p{L}/u.test(sign)).length ?? 0
  if (accented < 5 || accented < (value.match(/\p{L}/gu)?.length ?? 0) * 0.8) return false
  return /pass|secre|key|token|code/i.test(value.normalize('NFD').replace(/\p{M}/gu, ''))
}
/** Whether files of messages, styles and settings use such texts. A secret may look like this: the confidence is low. */
export const isStandIn = (value: string): boolean =>
  standIn.test(value) || codePoints.test(value) || isPattern(value) || isAccented(value)
/** Placeholders and templates in documentation. */
const template =
  /["'<>{}‹›…]|\$[({]|^\$[A-Za-z_]\w*|\$[A-Z][A-Z_]{2,}(?![A-Za-z0-9])|\$[a-z_]{4,}$|^%\w*%?$|^%[\w.]+%$|%[sdv](?!\w)|\*{3}|•{2}|x{4}|X{4}|\.{3}|_{4}|:$|^\[|^[)\]},;].*\($|^\+\s?[\w$.]+\s?\+$|^%(?:5[bB]|3[cC]|7[bB])|[rR]edacted|REDACTED|abcdefghij|ABCDEFGHIJ|\\[dws]|\[a-z|^@|^#\{|^!|^&/
const reference =
  /^(?:env|var|vars|secrets?|data|local|self|this|process|os|config|settings|props?|ctx|req|request|params|options|opts|args|vault|ref|file|arn|op|ssm|keychain|keyring)[.:/]/i
const address = /^[^\s@]+@[\w-]+(?:\.[\w-]+)*\.[a-z]{2,12}$/i
const path =
  /^(?:\.{0,2}|~|[a-z]:)[\\/]|^[\w.@~-]+\.(?:[cm]?[jt]sx?|json|ya?ml|toml|md|txt|py|rb|go|rs|java|kt|php|html?|css|svg|png|jpe?g|pem|key|crt|env|sh|sql|xml|lock|conf|ini)(?:[:#?].*)?$|:\/\//i
/** Numbers with units, versions, dates, times and code points. */
const measure =
  /^u\+[0-9a-f]{4,6}$|^0x[0-9a-f]{1,8}$|^0x(?:2d|5f|[4-7][0-9a-f])+$|^[-+~<>=^v]{0,3}(?:\d+(?:[.,:/-]\d+)*)[a-z%°]{0,3}$|^\d{4}-\d\d-\d\d(?:T.*)?$|^v?\d+\.\d[\w.+-]*$|^#[0-9a-f]{3,8}$|^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i

const border = /[^A-Za-z0-9]+|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])/
/** Whether the value consists of words, as names of types and variables do: `AuthenticationMD5Password`, `effect/TArray`. */
function areWords(value: string): boolean {
  // A year may be a part of a name: `ClientCapabilities2026Schema`.
  if (/[^\w$./:-]/.test(value) || /\d{3}/.test(value.replace(/(?<=[a-z])(?:19|20)\d\d(?=[A-Z]|$)/, ''))) return false
  const parts = value.split(border).filter((part) => part !== '')
  const digits = parts.filter((part) => /\d/.test(part)).length
  const letters = parts.length - digits
  // No word has so many consonants in a row.
  if (parts.some((part) => /[b-df-hj-np-tv-xz]{7}/.test(part))) return false
  return digits <= 2 && letters > 0 && value.replace(/[^A-Za-z]/g, '').length / letters >= 3.2 && digits <= letters
}

/** Whether the value refers to a secret, describes one or is a template, instead of being one. */
export function isNoLiteral(value: string): boolean {
  return (
    environmentName.test(value) ||
    typeName.test(value) ||
    template.test(value) ||
    reference.test(value) ||
    path.test(value) ||
    address.test(value) ||
    (signOfExpression.test(value) && expression.test(value)) ||
    marker.test(value) ||
    (member.test(value) && !/\d[a-z]+\d/i.test(value.replace(/secp\d{3}[kr]1/g, '')))
  )
}

/** Words for "password" in several languages. Documentation writes them where a password belongs, as in `user:passwort@host`. */
const wordForPassword =
  /^(?:contrase(?:ñ|ny)a|clave|senha|palavra-?passe|mot_?de_?passe|mdp|passwort|kennwort|wachtwoord|lozinka|hasło|haslo|heslo|geslo|parola|parolă|parole|salasana|lösenord|passord|adgangskode|jelszó|jelszo|şifre|sifre|пароль|парола|лозинка|κωδικός|κωδικος|סיסמה|كلمة_?(?:المرور|السر)|رمز_?عبور|पासवर्ड|รหัสผ่าน|mật_?khẩu|matkhau|sandi|kata_?sandi|kupuhipa|密码|密碼|口令|パスワード|비밀번호|암호)$/iu

/** Words of published and default passwords, and runs of neighbouring keys. */
const publishedWords =
  /p[a@4][s$5]{2}w[o0]rd|pass(?:word|wort|wd|phrase|code)?|change_?-?(?:me|it|this)|secret|s[3e]cr[3e]t|example|sample|dummy|fake|mock|test(?:ing|er)?|default|admin(?:istrator)?|root|user(?:name)?|guest|demo|foo|bar|baz|qux|hunter|letmein|welcome|qwert[yz]?|asdf(?:gh)?|abcd?(?:ef)?|todo|placeholder|redacted|hidden|insert|your|here|my|the|some(?:[-_ ]?kind(?:[-_ ]?of)?)?|temp|tmp|very|long|super|strong|secure|random|value|string|token|key|api|access|client|private|postgres(?:ql)?|mysql|maria|redis|mongo(?:db)?|elastic|rabbit(?:mq)?|minio|minioadmin|correct|horse|battery|staple|jane|john|doe|beep[-_ ]?boop|^boop$|must[-_ ]?be|at[-_ ]?least|hello|world|login|pw|pwd|new|old|salt|123(?:4(?:5(?:6(?:7(?:8(?:90?)?)?)?)?)?)?|0123456789|987654321|def(?=\d|$)|456|789|xyz|(.)\1{2,}/g
const published = new RegExp(publishedWords, 'gi')
const ascii = /^[\0-\x7f]*$/

/** Whether the value is a default or an example from documentation: without the words of such values, almost nothing remains of it. */
export const isPublishedValue = (value: string): boolean => {
  if (
    wordForPassword.test(value) ||
    /example/i.test(value) ||
    (value.length > 11 && /[g-z]/i.test(value) && isSequence(value))
  )
    return true
  // The same pattern in lower case needs less time. Letters beyond ASCII may change their length.
  const plain = ascii.test(value) ? value.toLowerCase().replace(publishedWords, '') : value.replace(published, '')
  const rest = plain.replace(/[^\p{L}\p{N}]/gu, '')
  // A rest of letters and digits is what makes a password secret, as in `pa55w0rd` with an ending.
  const max = /\p{L}/u.test(rest) && /\d/.test(rest) ? 3 : 4
  return rest.length <= Math.min(max, value.length / 3) && !/\p{L}\d\p{L}/u.test(rest)
}

/** People type passwords on Latin keyboards. */
const foreign = /\s|[^\p{Script=Latin}\p{N}\p{P}\p{S}\p{M}]/u
const symbol = /[!@#$%^&*?~+=]/
/**
 * Whether a value of at least six characters looks like a password that somebody chose: letters with digits or symbols. `isQuoted`: the
 * value is a literal of a language, so a word with a digit is not a variable.
 */
export function isChosen(value: string, isQuoted: boolean): boolean {
  if (value.length < 6 || value.length > 128 || foreign.test(value) || isNoLiteral(value) || measure.test(value))
    return false
  const hasLetter = /\p{L}/u.test(value)
  const hasDigit = /\d/.test(value)
  if (isGrouped(value)) return true
  if (!hasLetter) return (hasDigit && value.length >= 8 && symbol.test(value)) || /^\d{8,}$/.test(value)
  const mayBeWords = /[A-Z/_.$-]/.test(value) && !digitInWord.test(value)
  if (!isQuoted && (word.test(value) || (mayBeWords && areWords(value)))) return false
  if (/^\p{L}+(?:[-_.’'/ ]\p{L}+)*[-_.:!?*…,]{0,3}$/u.test(value))
    return /^[a-z]{4,}!$/.test(value) ? isQuoted : isDrawn(value) && value.length >= 12 && !areWords(value)
  if (/^\p{L}+(?:[-_/.]\p{L}+)+[-_/.]?\d{0,2}$/u.test(value)) return false
  if (isQuoted && /^[a-z]{1,20}[A-Z]\w{0,20}\d{0,2}$/.test(value) && word.test(value)) return false
  return hasDigit || /[@#$%^&~+=]|[!?*][^!?*]/.test(value)
}

/**
 * Whether the value consists of at least three groups of one length (the last one may differ by one), joined by hyphens, that are no words, as
 * programs that manage passwords suggest them.
 */
export function isGrouped(value: string): boolean {
  if (!value.includes('-')) return false
  const groups = value.split('-')
  const length = groups[0]?.length ?? 0
  if (groups.length < 3 || length < 4 || length > 8 || !/\d/.test(value) || !/[a-z]/.test(value)) return false
  if (
    !groups.every((group, at) => group.length === length || (at === groups.length - 1 && group.length === length + 1))
  )
    return false
  const unlike = groups.filter(
    (group) => /^[A-Za-z\d]+$/.test(group) && (mixedGroup.test(group) || !/[aeiouy\d]/i.test(group)),
  )
  return (
    unlike.length >= 2 &&
    unlike.some((group) => mixedGroup.test(group)) &&
    groups.every((group) => /^[A-Za-z\d]+$/.test(group))
  )
}
/** A capital or a digit within a group, or a letter after a digit. */
const mixedGroup = /[a-z][A-Z]|[A-Z]{2}[a-z]|[A-Za-z]\d[A-Za-z]|^\d+[A-Za-z]/

/** A digit within a word that begins with a capital. Names of types write a capital after a digit: `Base64Text`. */
const digitInWord = /^[A-Z]\w*[a-z]\d{1,3}[a-z]/

const sign = /[^A-Za-z0-9]/
/** The value without signs at its ends. */
function withoutSigns(value: string): string {
  let [start, end] = [0, value.length]
  while (start < end && sign.test(value.charAt(start))) start += 1
  while (end > start && sign.test(value.charAt(end - 1))) end -= 1
  return value.slice(start, end)
}

/** Whether the value looks generated, as keys and tokens are. */
export const isGenerated = (value: string): boolean =>
  value.length >= 12 &&
  !/\s/.test(value) &&
  isDrawn(value) &&
  !word.test(value) &&
  !areWords(withoutSigns(value)) &&
  !/^(?:\w{1,8}:){2,}\w{1,8}$/.test(value) &&
  !isNoLiteral(value) &&
  !measure.test(value)
