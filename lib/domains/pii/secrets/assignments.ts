import { isAlphanumeric } from '../matching.ts'
import { isChosen, isGenerated, isPublishedValue, isStandIn } from './secret-values.ts'

interface AssignedSecret {
  start: number
  end: number
  /** Whether documentation and defaults use the value, or the name or the value may mean something else. */
  isPublished: boolean
  /** Returns whether the value looks generated: for rejecting a text. */
  isDefinite: () => boolean
}

/**
 * Words that name a secret, by language, in lower case. A word with spaces or hyphens is written as people write it. The languages are
 * those of the largest communities of software users; CLDR's language codes name them.
 */

/** Words for password, passphrase and PIN. */
const passwordWords: Readonly<Record<string, string>> = {
  en: 'password|passwd|passphrase|passcode|pass phrase|pass code|pwd|passw|userpass|rootpw|bindpw|pgpass|requirepass|masterauth|access code|login code|unlock code|secret word|admin pass|root pass|db pass|wifi pass|wi-fi pass|pass-phrase|pass-word',
  af: 'wagwoord|toegangskode',
  ar: 'كلمة المرور|كلمة السر|كلمة مرور|الرقم السري|رمز الدخول|رمز المرور|كلمة سر|كلمه المرور|كلمه السر|الباسورد|باسورد|كود الدخول',
  az: 'şifrə|parol|giriş kodu|parolu|şifrəsi',
  bg: 'парола|паролата|код за достъп',
  bn: 'পাসওয়ার্ড|গোপন নম্বর',
  ca: 'contrasenya|clau d’accés|mot de pas',
  cs: 'heslo|hesla|heslem|přístupový kód|přístupové heslo',
  da: 'adgangskode|kodeord|kode til|adgangskoden|kodeordet|kodord|password til',
  de: 'passwort|kennwort|passwörter|zugangscode|zugangspasswort|zugangsdaten|losung|kennwörter|geheimwort|pin-code|wlan-schlüssel|netzwerkschlüssel',
  el: 'κωδικός|κωδικος|συνθηματικό|κωδικός πρόσβασης|κωδικό πρόσβασης|κωδικό|συνθηματικο|κωδ πρόσβασης',
  es: 'contraseña|contrasena|clave de acceso|palabra clave|código de acceso|codigo de acceso|contraseñas|clave secreta|clave de paso|clave wifi|clave del wifi|palabra de paso',
  et: 'parool|salasõna|parooli|salasona',
  eu: 'pasahitza',
  fa: 'رمز عبور|گذرواژه|رمز ورود|کلمه عبور|پسورد|رمز|رمز وای فای|رمزعبور',
  fi: 'salasana|tunnussana|salasanasi|salasanani|pääsykoodi',
  fr: 'mot de passe|mots de passe|motdepasse|mdp|code secret|code d’accès|mot-clé secret|code d’entrée|code wifi|code du wifi|mdp wifi',
  gl: 'contrasinal|clave de acceso|contrasinais',
  he: 'סיסמה|סיסמא|הסיסמה|סיסמת|סיסמאות|קוד גישה|קוד כניסה|הסיסמא',
  hi: 'पासवर्ड|कूटशब्द|गुप्त शब्द|गुप्तशब्द|पासकोड|कूट शब्द',
  hr: 'lozinka|zaporka|šifra|lozinku|lozinke|pristupna šifra|pristupni kod',
  hu: 'jelszó|jelszava|jelszo|jelszava|jelszavad|jelszavam|belépési kód|hozzáférési kód',
  hy: 'գաղտնաբառ|ծածկագիր',
  id: 'kata sandi|sandi|kode akses|kata kunci|kode rahasia|passwordnya',
  is: 'lykilorð|aðgangsorð',
  it: "parola d'ordine|parola d’ordine|parola chiave|codice di accesso|codice accesso|parola segreta|codice segreto",
  ja: 'パスワード|パスフレーズ|暗証番号|合言葉|ログインパスワード|パスコード|アクセスコード|合い言葉|暗号|PW',
  ka: 'პაროლი',
  kk: 'құпиясөз|құпия сөз|құпиясөзі',
  ko: '비밀번호|패스워드|암호|비번|패스코드|접속 암호|비번은|비밀 번호',
  lt: 'slaptažodis|slaptažodį|slaptazodis|prieigos kodas',
  lv: 'parole|paroli|piekļuves kods',
  mk: 'лозинка|лозинката',
  ms: 'kata laluan|kod akses|kata kunci',
  nb: 'passord|passordet|adgangskode|tilgangskode',
  nl: 'wachtwoord|toegangscode|wachtwoorden|inlogcode|pincode',
  pl: 'hasło|haslo|hasła|kod dostępu|hasłem|hasłem dostępu|hasełko|kod dostepu',
  pt: 'senha|palavra-passe|palavra passe|código de acesso|codigo de acesso|palavra de passe|palavra-chave|senha de acesso|senha do wifi|senhas',
  ro: 'parolă|parola|parole|cod de acces|parolei',
  ru: 'пароль|пароля|паролем|паролю|пароле|пароли|код доступа|кодовое слово|пасс',
  sl: 'geslo|gesla|dostopna koda|geslom',
  sq: 'fjalëkalimi|fjalekalimi|fjalekalim|fjalëkalim|kodi i hyrjes',
  sv: 'lösenord|losenord|lösen|kodord|åtkomstkod|lösenordet|lösenkod',
  sw: 'nenosiri|neno la siri|nywila',
  ta: 'கடவுச்சொல்|ரகசிய குறியீடு|கடவுச் சொல்',
  th: 'รหัสผ่าน|รหัสลับ|พาสเวิร์ด|รหัสเข้า|รหัส',
  tr: 'şifre|sifre|parola|parolası|şifresi|şifrem|giriş kodu|erişim kodu',
  ur: 'پاس ورڈ|خفیہ لفظ|پاسورڈ',
  vi: 'mật khẩu|mat khau|mã pin|mã truy cập|mật mã|mk',
  zh: '密码|密碼|口令|通行碼|通行码|登录密码|登錄密碼|登陆密码|暗号|密碼是|访问码|提取码|口令词',
  be: 'пароль',
  bs: 'lozinka|šifra',
  cy: 'cyfrinair',
  eo: 'pasvorto',
  fil: 'hudyat|kontrasenyas',
  ga: 'pasfhocal|focal faire',
  km: 'ពាក្យសម្ងាត់',
  mn: 'нууц үг',
  mr: 'संकेतशब्द',
  my: 'စကားဝှက်',
  ne: 'पासवर्ड',
  sk: 'hesla|prístupový kód|heslom',
  sr: 'лозинка|шифра|lozinka|šifra|приступни код',
  te: 'పాస్‌వర్డ్|రహస్యపదం',
  uk: 'пароль|паролю|паролі|код доступу',
  uz: 'parol|maxfiy soʻz',
}

/** Short words for password that also mean something else; they require a complete name and a value that looks like a password. */
const shortPasswordWords = 'pass|pw|psw|clave'

/** Words for key, token and secret. Only a value that looks generated is a secret after them. */
const keyWords: Readonly<Record<string, string>> = {
  en: 'key|token|secret|credential|credentials|_auth|apikey|accesskey|secretkey|authkey|sas|pat',
  ar: 'مفتاح|رمز مميز',
  cs: 'klíč',
  da: 'nøgle',
  de: 'schlüssel|geheimnis',
  es: 'clave',
  fi: 'avain',
  fr: 'clé|jeton|clef',
  he: 'מפתח',
  hi: 'कुंजी',
  hu: 'kulcs',
  id: 'kunci',
  it: 'chiave',
  ja: 'キー|トークン|シークレット|鍵',
  ko: '키|토큰|시크릿',
  nb: 'nøkkel',
  nl: 'sleutel',
  pl: 'klucz',
  pt: 'chave',
  ro: 'cheie|cheia',
  ru: 'ключ|токен|секрет',
  sv: 'nyckel',
  th: 'คีย์|โทเค็น',
  tr: 'anahtar|anahtarı|belirteç',
  uk: 'ключ|токен',
  vi: 'khóa|mã thông báo',
  zh: '密钥|密鑰|秘钥|令牌|凭证|金钥',
}

const wordsOf = (data: Readonly<Record<string, string>>): string[] =>
  Object.values(data).flatMap((words) => words.toLowerCase().split('|'))
/** Names of variables and options join words: `mot_de_passe`, `--mot-de-passe`. */
const passwordNames: ReadonlySet<string> = new Set(
  wordsOf(passwordWords)
    .flatMap((word) => (word.includes('’') ? [word, word.replaceAll('’', "'")] : [word]))
    .flatMap((word) => (word.includes(' ') ? [word, word.replaceAll(' ', '_'), word.replaceAll(' ', '-')] : [word])),
)
const shortPasswordNames: ReadonlySet<string> = new Set(shortPasswordWords.split('|'))
/** Whether the lower-case word names a password. */
export const isPasswordName = (word: string): boolean => passwordNames.has(word)
const keyNames: ReadonlySet<string> = new Set(wordsOf(keyWords).filter((word) => !passwordNames.has(word)))

/** Verbs between the name of a secret and its value: `the password is …`, `Passwort lautet …`, `パスワードは…`. */
const copulas =
  'is|was|are|set to|reset to|changed to|now|ist|lautet|war|est|était|es|era|é|è|sarà|jest|brzmi|to|je|är|er|on|este|adalah|ialah|là'
/** The same in scripts that a Latin letter cannot continue. */
const otherCopulas = 'είναι|это|е|هو|هي|היא|הוא|است|है|คือ|は|が|는|은|이|가|是|为|為|即|：'

/** What may follow the word in a name that still names the secret: `password2`, `PASSWORD_PROD`. */
const nameEndings =
  'prod|production|dev|development|staging|stage|test|qa|root|admin|user|users|db|database|default|value|val|text|txt|plain|plaintext|string|str|env|new|old|main|primary|backup|live|sandbox|local|remote|master|api|app|web|raw|b64|base64'

/** Parts before `key` or `token` whose values identify something and are not secret. */
const identifierParts =
  'public|pub|publishable|anon|primary|foreign|partition|sort|cache|idempotency|page|next|prev|continuation|cursor|sync|resume|fingerprint|hash|registry|integrity|mint|contract|asset|program|address|measurement|site|tracking|translation|message|storage|bucket|object|s3|row|react|lookup|unique|dedupe|(?<!pagerduty[-_ ]?|pd[-_ ])routing'

/** Words that may name a secret. */
export const secretNames: readonly string[] = [...new Set([...passwordNames, ...shortPasswordNames, ...keyNames])]

const letter = /\p{L}/u
const isLetter = (text: string, at: number): boolean => letter.test(text.charAt(at))

/** The rest of a name after the word: `password2`, `PASSWORD_PROD`, `passwords`; inflected forms of other languages. */
const nameEnd = new RegExp(String.raw`(?:[_.-]?(?:${nameEndings})(?![a-z])){0,2}[_-]?\d{0,3}`, 'iy')
const passwordEnd = new RegExp(`s?${nameEnd.source}`, 'iy')
const inflection = /\p{L}{0,5}/uy
const identifier = new RegExp(`(?:${identifierParts})[-_. ]?$`, 'i')

/** Names of methods of authentication, `mysql_native_password`, and of identifiers, `publicKeyToken`. */
const otherName = /(?:native|sha2|sha256|clear|old|public[_-]?key)[_-]?$/i

/** Quotes, brackets, emphasis and tags that close the name. */
const closing = String.raw`(?:\\{0,3}["'\x60]|[\]})*]|\?(?=\s?:)|!(?=\s?:)|<\/[a-z]{1,10}>){0,4}`
const space = String.raw`[ \t\u00a0]{0,12}`
/** A value of this form after a name and a space may be a password without a colon or a verb, or a product with its version. */
const hasAllClasses = (value: string): boolean =>
  value.length >= 8 && /\p{Lu}/u.test(value) && /\p{Ll}/u.test(value) && /\d/.test(value) && /[!#%&*?@^~+]/.test(value)
const gapAt = /[ \t]{1,2}(?=[^\s"'(<=-])/y
/** One quotation mark, several different ones, or three equal ones. Two equal ones are an empty text. */
const open = String.raw`(?:(?:Some|Ok|String::from|new String|str|SecretStr|SecretString|Secret(?:::new)?)\((?=["']))?(?:[$@rbfuRBFUL]{0,2}(?:"""|'''|(?:\\{0,3}(?:"(?!")|'(?!')|\x60(?!\x60))){1,3})|\\{1,3}["'])`
const typed = String.raw`:\s?[A-Za-z&*'?][\w&<>\[\]?.| ]{0,30}?\s?=(?!=|>)`
const operator = String.raw`(?:${typed}|:=|=>|->|<-(?=\s?["'])|\|\|=|\?\?=|\?=|={1,3}|:{1,2}[*_]{0,2}|\+=)`
const forms = {
  /** Operators. */
  operator: [
    // `password = x`, `"password": "x"`, `password: string = "x"`, `password => x`, also with the value in the next line of YAML.
    // A tag or an anchor of YAML may precede it, or the bracket of a list.
    String.raw`${closing}${space}${operator}${space}(?:[|>][-+]?[ \t]{0,3}\r?\n[ \t]{1,20}|[&!][\w-]{1,30}[ \t]{1,3}|\[\s{0,8}(?=["']))?`,
  ],
  /** Other places for a value, after a name that has no other meaning. */
  place: [
    // `name: DB_PASSWORD` and `value: x`; `"name":"DB_PASSWORD","value":"x"`; `name="password" value="x"`; `<Data Name="p"><Value>x`
    String.raw`(?:\\{0,3}["'])?(?:\s{0,3},|/?>)?\s{1,20}(?:\\{0,3}["'])?value(?:\\{0,3}["'])?\s{0,3}[:=]\s{0,3}`,
    String.raw`(?:\\{0,3}["']),\s{0,3}(?:\\{0,3}["'])value(?:\\{0,3}["'])\s{0,3}:\s{0,3}`,
    // `variable "db_password" { default = "x" }`
    String.raw`["']\s{0,2}\{\s{1,20}(?:[a-z_]{1,20}\s{0,10}=\s{0,3}[^\n]{0,80}\n\s{1,20}){0,4}default\s{0,10}=\s{0,3}`,
    // `define('DB_PASSWORD', 'x')`, `setPassword("x")`, `password "x"`, `PASSWORD 'x'`, `%w(password x)`
    String.raw`\\{0,3}["']\s{0,2},\s{0,3}(?=\\{0,3}["'])`,
    String.raw`\(\s{0,2}(?=["'])`,
    String.raw`[ \t](?=["'\x60])`,
    // `<string name="api_key">x</string>`
    String.raw`\\{0,3}["'](?:\s[^<>\n]{0,60})?>\s{0,3}(?:<!\[CDATA\[)?`,
    // `<password>x</password>`, `<td>Password</td><td>x</td>`, `| Password | x |`
    String.raw`(?:\s[^<>\n]{0,60})?>\s{0,3}(?:<!\[CDATA\[)?`,
    String.raw`:?(?:<\/[a-z]{1,10}>\s{0,10}){1,3}(?:<[a-z]{1,10}(?:\s[^<>\n]{0,60})?>\s{0,3}){1,3}`,
    String.raw`[*_\x60:]{0,3}\t{1,3}`,
  ],
  /** A cell of a table in Markdown. */
  cell: [String.raw`[*_\x60]{0,3}[ \t]{0,20}\|[ \t]{0,20}[*_\x60]{0,3}`],
}
/** Between a name that has no other meaning and a value that can be nothing but a password. The last one requires a line of its own. */
const unreferenced = [
  String.raw`${closing}[ \t]{0,4}[–—|~›»→-]{1,2}>?[ \t]{1,4}`,
  String.raw`${closing}[ \t]{0,2};[ \t]{0,4}`,
  String.raw`\][:：]?[ \t]{1,4}`,
  String.raw`[ \t]{1,3}[(\[{（「『【]`,
  `[（「『【]`,
]
const looseLine = String.raw`${closing}[ \t]{0,2}[:：]?[*_]{0,2}[ \t]{0,4}\r?\n(?:[ \t]{0,8}\r?\n)?(?:[ \t>*-]{0,8}\x60\x60\x60[a-z]{0,12}[ \t]{0,4}\r?\n)?[ \t>*-]{0,8}`
/** Words between a name and the sign that assigns its value: `Passwort fürs WLAN`. */
const moreWords = /(?:[ _][\p{L}\p{M}\u200c’'.-]{1,16}(?![\p{L}\p{N}]|_\d)){1,3}/uy
const compoundAt = /[^\0-\x7f：\s]{1,16}\s?[:：]\s?/uy
/** Tags between a name and its value: `<th>Password:</th>\n<td class="x">…`, `<b>Password:</b> …`, `Password:<br>…`. */
const tagsAt = /[ \t]{0,3}[:：]?\s{0,3}(?:<\/?[a-z][a-z\d]{0,9}(?:\s[^<>\n]{0,80})?>\s{0,20}){1,6}/iy
/** The end of the text of an element. */
const textEnd = /\s{0,20}(?:<|$)/y
/** A word with a number: a variable in code, and a password where a text contains nothing else. */
const numberedWord = /^\p{Lu}?\p{Ll}{3,}\d{1,6}$/u
/** The beginning of a line that assigns to a name: `DB_`, `spring.datasource.`, `> - **`. */
const lineStart = /(?:^|\n)[ \t>*#-]{0,12}["'*_\x60]{0,3}(?:\w{1,24}[_.-]){0,3}$/
/** What an object with a name and a value has between them, and the value when it precedes the name. */
const propertiesAt =
  /["'](?:\s{0,8},\s{0,8}["'](?!value["'])\w{1,20}["']\s?:\s?(?:["'][^"'\n]{0,60}["']|[\w.]{1,12})){0,4}\s{0,8},\s{0,8}["'](?:value|text|content|val)["']\s?:\s?(?=["'])/iy
const valueBefore =
  /["'](?:value|text|content|val)["']\s?:\s?(?<quote>["'])(?<value>[^"'\\\n]{4,80})\k<quote>\s{0,8},\s{0,8}["'](?:name|key|label|field|title|id)["']\s?:\s?["']$/i
const labelBefore = /["'](?:name|key|label|field|title|id)["']\s?:\s?["']$/i
const compiled = (list: readonly string[]) => new RegExp(list.map((form) => `(?:${form})`).join('|'), 'iy')
const operatorAt = compiled(forms.operator)
const placeAt = compiled([...forms.operator, ...forms.place])
const cellAt = compiled(forms.cell)
const looseAt = compiled(unreferenced)
const lineAt = compiled([looseLine])
const lineEnd = /["'\x60*_]{0,3}[ \t]{0,8}(?:\r?\n|$)/y
const inTable = /(?:^|\n)[ \t>]{0,8}\|[^\n]{0,60}$/
/** Up to three words between the name and its value, then a colon or a verb: `Password for the admin: x`, `the password is x`. */
const inSentence = new RegExp(
  String.raw`["'”»)]?(?:\s[(]?[\p{L}\p{N}’'@._-]{1,24}[)]?){0,4}?(?<sign>["'”»)*_\x60\]]{0,3}\s?(?::=|=>|->|[:=](?!=))(?!/)|\s{0,2}(?:(?<![\p{L}\p{N}_-])(?:${copulas})(?![\p{Script=Latin}])|(?:${otherCopulas})))\s{0,2}`,
  'iuy',
)
/** After an option of a command the value follows a space: `--password x`, `-Password x`, `ENV DB_PASSWORD x`, `login x password y`. */
const optionBefore =
  /(?:^|[\s"'(,[])(?:--?|\/)[\w.-]{0,40}$|(?:^|\n|;)[ \t]{0,8}(?:ENV|ARG|setenv|setx|export|config set|set(?:[ \t]-[a-z]{1,4}){1,3})[ \t]{1,3}[\w.-]{0,40}$|login[ \t]\S{1,64}\s{1,4}$|(?:^|\n)[ \t]{0,4}(?:enable|username[ \t]\S{1,64}(?:[ \t]privilege[ \t]\d{1,2})?)[ \t]$/i
/** Routers write the type of the encoding before the value: `password 0 x`. */
const optionGap = /[ \t]{1,3}(?:[05][ \t])?(?![-&|])/y
const opened = new RegExp(open, 'y')

/** `key` requires a part of the name before it, or a word that says which key it is. */
const keyPrefix =
  /[a-z\d][_-]?$|(?:api|access|secret|auth|private|signing|encryption|master|account|license|shared|service|client|session|deploy|write|admin|app|webhook|root)[ .]$/i

/** A random UUID. Vendors issue them as keys; elsewhere they identify something. */
const isUniqueId = (value: string): boolean =>
  /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i.test(value) && new Set(value).size >= 11
/** Whether the name is that of a key whatever its value is: `EXA_API_KEY`, `RAILWAY_TOKEN`, `?api-key=`. */
const isKeyName = (text: string, start: number, end: number): boolean => {
  const lead = text.slice(Math.max(0, start - 24), start)
  const word = text.slice(start, end)
  if (/(?:api|secret|access|auth|private)[_-]?$/i.test(lead) && /^(?:key|token|secret)$/i.test(word)) return true
  return /[A-Z\d]_$/.test(lead) && /^(?:TOKEN|SECRET)$/.test(word) && !/(?:CSRF|XSRF|DEVICE|REQUEST|TRACE)_$/.test(lead)
}

/**
 * Whether a name for a secret may be another one: `en-PW` is a locale, `flag_mk` is an entry of a list of languages, and the value of
 * `user_id_key` may be public.
 */
function mayMeanElse(keyword: string, lead: string, written: string): boolean {
  if (keyword === 'pw') return /["'][a-z]{2,3}-$/.test(lead) && /^[A-Z]+$/.test(written)
  if (keyword === 'mk') return /flag_$/.test(lead)
  // The name of a parameter that may also be that of an object: `?key=x`.
  if (keyword === 'key' && /[?&]$/.test(lead)) return true
  return keyword === 'key' && /(?:[a-z]Id|[_-]id)[_-]?$/.test(lead)
}

/** Whether the value is a member with the name to which it is assigned: `PrivateKeyV2 = library.keys.PrivateKeyV2`. */
function isOwnMember(value: string, lead: string): boolean {
  const name = value.slice(value.lastIndexOf('.') + 1)
  if (name === '' || name === value || !lead.endsWith(name)) return false
  return /^[\w$.]+$/.test(value) && !/[\w$]/.test(lead.charAt(lead.length - name.length - 1))
}
/** Whether data in an encoding with signs (Base85) surrounds the position. */
const isInBlob = (text: string, at: number): boolean => {
  const lead = text.slice(Math.max(0, at - 32), at)
  return lead.length === 32 && !/\s/.test(lead) && lead.replace(/[A-Za-z\d"',:]/g, '').length > 7
}

const endOf = (pattern: RegExp, text: string, at: number): number | undefined => {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : undefined
}

/** A value as a program reads it: `Contrase\u00f1a` is a word. */
const unescaped = (value: string): string =>
  value.includes('\\u')
    ? value.replace(/\\u([0-9a-f]{4})/gi, (_, code) => String.fromCharCode(Number.parseInt(String(code), 16)))
    : value
/** The last part of the name of a resource of Amazon: `arn:aws:secretsmanager:…:123456789012:secret:name`. */
const resource = /:\d{12}:$/

/** The end of an attribute and of its tag, and an attribute that gives its name to the text after it: `<string name="api_`. */
const attributeEnd = /^[\w .-]{0,20}\\{0,3}["'](?:\s[^<>\n]{0,60}[^<>\n=-])?>/
const attribute = /[\w-]\s?=\s?\\{0,3}["'][\w .-]{0,40}$/
const nameAttribute = /(?:name|key)\s?=\s?\\{0,3}["'][\w.-]{0,40}$/i

/** Whether a row of a table in Markdown contains the position. */
const isCell = (text: string, at: number): boolean => {
  const lead = text.slice(Math.max(0, at - 64), at)
  return lead.includes('|') && inTable.test(lead)
}

interface Written {
  start: number
  end: number
  isQuoted: boolean
}
const longest = 300
const unquotedEnd = /[\s"'`<>|,;()[\]{}&（）。，、；「」『』【】\u2028]|[^\p{Script=Latin}\p{N}\p{P}\p{S}\p{M}]/u
/** The value as written from here: in quotes, or as far as it can extend without them. `stops`: what else ends it. */
function valueAt(text: string, at: number, stops = ''): Written | undefined {
  const inner = endOf(opened, text, at)
  if (inner !== undefined && inner > at) {
    const quote = text.charAt(inner - 1)
    const isEscaped = text.charAt(inner - 2) === '\\'
    for (let end = inner; end < text.length && end - inner <= longest; end++) {
      const sign = text.charAt(end)
      if (sign === '\n') return undefined
      if (sign === '\\' && !isEscaped && text.charAt(end + 1) !== quote) end += 1
      else if (sign === quote || (isEscaped && sign === '\\' && /["'\\]/.test(text.charAt(end + 1))))
        return { start: inner, end, isQuoted: true }
      else if (sign === '\\') end += 1
    }
    return undefined
  }
  // A text of Lua: `[[x]]`.
  if (text.startsWith('[[', at)) {
    const length = text.slice(at + 2, at + 2 + longest).search(/\]\]|\n/)
    return length > 0 && text.charAt(at + 2 + length) === ']'
      ? { start: at + 2, end: at + 2 + length, isQuoted: true }
      : undefined
  }
  let end = at
  for (; end < text.length && end - at <= longest; end++) {
    const sign = text.charAt(end)
    const code = text.charCodeAt(end)
    const isPlain = (code > 47 && code < 58) || (code > 64 && code < 91) || (code > 96 && code < 123)
    if (isPlain) continue
    if (stops.includes(sign) || sign === '\\') break
    if (
      sign === '&' &&
      stops === '' &&
      !/\s|[a-z]=/i.test(text.slice(end + 1, end + 16)) &&
      /\w/.test(text.charAt(end + 1))
    )
      continue
    if (unquotedEnd.test(sign)) break
  }
  if (end - at > longest) return undefined
  while (end > at && /[.,:;…]/.test(text.charAt(end - 1))) end -= 1
  return end > at ? { start: at, end, isQuoted: false } : undefined
}

/** Whether code follows an unquoted value: a call, an index, a template or a type. */
const isCode = (text: string, { end, isQuoted }: Written): boolean =>
  !isQuoted && /^(?:[([{`$]|<(?!\/|br\b))/.test(text.slice(end, end + 4))

/** Whether a line consists of the name, the sign that assigns, and the value. */
function isOwnLine(text: string, start: number, nameEnd: number, valueStart: number, valueEnd: number): boolean {
  if (!/^[ \t]{0,8}(?:\r?\n|$)/.test(text.slice(valueEnd, valueEnd + 10))) return false
  const lead = text.slice(Math.max(0, start - 80), start)
  if (!lineStart.test(lead)) return false
  const sign = text.slice(nameEnd, valueStart)
  // `this.password = value2` is code, `app.password=value2` a line of a file of settings.
  return !(/=/.test(sign) && /\s/.test(sign) && /\.$/.test(lead)) && !/[=:]>|->|<|[:]{2}/.test(sign)
}

/** Whether the value is the text of an element, or the line of a `value` after that of its name. */
const isOwnText = (text: string, nameEnd: number, valueStart: number, valueEnd: number): boolean => {
  const gap = text.slice(nameEnd, valueStart)
  if (/>\s{0,3}$/.test(gap) && text.startsWith('</', valueEnd)) return !/[-=]>\s{0,3}$/.test(gap)
  return (
    /\n[ \t]{1,20}value:[ \t]{1,3}$/.test(gap) && /^[ \t]{0,8}(?:\r?\n|$)/.test(text.slice(valueEnd, valueEnd + 10))
  )
}

/** The text of the element after the name, or after the element that contains the name; not the text that was already examined. */
function besideTags(text: string, nameEnd: number, examined?: number): Written | undefined {
  if (!/^[ \t]{0,3}[:：]?\s{0,3}</.test(text.slice(nameEnd, nameEnd + 8))) return undefined
  const place = endOf(tagsAt, text, nameEnd)
  const written = place === undefined || place === examined ? undefined : valueAt(text, place)
  return written && endOf(textEnd, text, written.end) !== undefined ? written : undefined
}

/** The value of an object in JSON whose name or label is the word: `{"label":"Password","type":"x","value":"…"}`. */
function besideName(text: string, start: number, nameEnd: number): Written | undefined {
  if (!/["']/.test(text.charAt(start - 1))) return undefined
  const lead = text.slice(Math.max(0, start - 160), start)
  if (!labelBefore.test(lead)) return undefined
  const place = endOf(propertiesAt, text, nameEnd)
  if (place !== undefined) return valueAt(text, place)
  const value = valueBefore.exec(lead)
  if (!value?.groups) return undefined
  const from = start - lead.length + value.index + value[0].indexOf(value.groups.value ?? '', value[0].indexOf(':'))
  return { start: from, end: from + (value.groups.value ?? '').length, isQuoted: true }
}

const knownScripts = new Map<string, boolean>()
/** Whether the script of a word has no spaces between words. */
function isWithoutSpaces(keyword: string): boolean {
  const known = knownScripts.get(keyword)
  if (known !== undefined) return known
  const found =
    /[^\0-\x7f]/.test(keyword) &&
    !letter.test(keyword.charAt(0).replace(/[^\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}]/u, ''))
  knownScripts.set(keyword, found)
  return found
}

/**
 * The secret that the word from `start` to `end` names and the text assigns: `DB_PASSWORD=x`, `"clientSecret": "x"`, `--password x`,
 * `<password>x</password>`, `Passwort lautet x`. Bounded: reads at most some hundred characters.
 */
export function assignedSecretAt(text: string, keyword: string, start: number): AssignedSecret | undefined {
  const end = start + keyword.length
  const isPassword = passwordNames.has(keyword)
  const isShort = shortPasswordNames.has(keyword)
  const next = text.charCodeAt(end)
  // Most occurrences of `key` and `token` continue a sentence.
  if (!isPassword && !isShort && next === 32 && !/[:=|"'`>]/.test(text.slice(end + 1, end + 16))) {
    const isSaid = /^ (?:is|was|ist|est|es) \w{3}/.test(text.slice(end, end + 9))
    if (!isSaid && !/["'(]|--?[\w-]{0,30}$/.test(text.slice(Math.max(0, start - 24), start))) return undefined
  }
  const isSpaced = isWithoutSpaces(keyword)
  let nameStop: number | undefined
  if (isSpaced) nameStop = endOf(/\d{0,2}/y, text, end)
  else {
    const follows = endOf(isPassword || isShort ? passwordEnd : nameEnd, text, end) ?? end
    nameStop =
      isLetter(text, follows) && isPassword && /[^\0-\x7f]/.test(keyword) ? endOf(inflection, text, end) : follows
    if (nameStop === undefined || isLetter(text, nameStop) || text.charAt(nameStop) === '_') return undefined
    const before = text.charAt(start - 1)
    if (isShort || keyword.length < 4) {
      const isCamel = /[a-z\d]/.test(before) && /[A-Z]/.test(text.charAt(start))
      if (/[\p{L}\d]/u.test(before) && !isCamel) return undefined
    } else if (!isPassword && letter.test(before) && !/[a-z]/i.test(before)) return undefined
  }
  const lead = text.slice(Math.max(0, start - 48), start)
  if (!isPassword && identifier.test(lead)) return undefined
  const isDoubtful = mayMeanElse(keyword, lead, text.slice(start, end))
  if (otherName.test(lead) || resource.test(lead)) return undefined

  const isQuery = (lead.includes('?') || lead.includes('&')) && /[?&][\w.-]{0,40}$/.test(lead)
  // `<span class="password">x`: the word may say how the text of the element looks.
  const isMarked =
    lead.includes('=') &&
    attribute.test(lead) &&
    !nameAttribute.test(lead) &&
    attributeEnd.test(text.slice(nameStop ?? end, (nameStop ?? end) + 90))
  // `isAlone`: the value is all that its cell, element or line contains, so that it is no expression.
  const decide = (written: Written | undefined, isSentence: boolean, isAlone = false): AssignedSecret | undefined => {
    if (written === undefined || isCode(text, written)) return undefined
    const value = unescaped(text.slice(written.start, written.end))
    if (!written.isQuoted && isOwnMember(value, text.slice(Math.max(0, start - 48), nameStop ?? end))) return undefined
    const isStrong = () => isGenerated(value) || (isUniqueId(value) && isKeyName(text, start, end))
    const needsKey = !isPassword && !isShort
    if (needsKey && !isStrong()) return undefined
    // `key: …` of a map or a component names an identifier unless something says which key it is.
    if (keyword === 'key' && !keyPrefix.test(lead) && !(isQuery && value.length > 19)) return undefined
    // A row of texts in Base64 may contain a short name as one of them: `PW4= cmVkaXM=`.
    if (isShort && /^\d?= /.test(text.slice(end, end + 3))) return undefined
    const isLiteral = written.isQuoted || (isAlone && isPassword && numberedWord.test(value))
    if (isSentence) {
      if (!/\d/.test(value) || !letter.test(value) || !isChosen(value, isLiteral)) return undefined
    } else if (!needsKey && !isChosen(value, isLiteral) && !isStrong()) return undefined
    const isPublished = isPublishedValue(value)
    if (isSentence && isPublished) return undefined
    // A nonce of RFC 6455 has 16 bytes and is in every sample of a handshake.
    const isNonce = keyword === 'key' && value.length <= 24 && /sec-websocket-$/i.test(lead)
    const isUnsure =
      isDoubtful ||
      isNonce ||
      isMarked ||
      isStandIn(value) ||
      (!written.isQuoted && keyword.length < 4 && !/[?&;,][\w.-]{0,40}$/.test(lead) && isInBlob(text, start))
    return {
      start: written.start,
      end: written.end,
      isPublished: isPublished || isUnsure,
      isDefinite: () => !isUnsure && isStrong(),
    }
  }

  const isInTable = isCell(text, start)
  const operated = endOf(isShort ? operatorAt : placeAt, text, nameStop ?? end)
  const assigned = operated ?? (isInTable ? endOf(cellAt, text, nameStop ?? end) : undefined)
  if (assigned !== undefined) {
    const written = valueAt(text, assigned, isQuery ? '&#' : '')
    // A comparison with a variable assigns nothing.
    const isCompared = written?.isQuoted === false && /={2,3}\s*$/.test(text.slice(nameStop ?? end, assigned))
    const isAlone =
      isPassword &&
      written?.isQuoted === false &&
      (operated === undefined
        ? isInTable
        : isQuery ||
          isOwnLine(text, start, nameStop ?? end, assigned, written.end) ||
          isOwnText(text, nameStop ?? end, assigned, written.end))
    const found = isCompared ? undefined : decide(written, false, isAlone)
    if (found || isShort) return found
  }
  if (isPassword) {
    const found =
      decide(besideTags(text, nameStop ?? end, assigned), false, true) ??
      decide(besideName(text, start, nameStop ?? end), false)
    if (found) return found
  }
  if (optionBefore.test(lead)) {
    const gap = endOf(optionGap, text, nameStop ?? end)
    const found =
      gap === undefined ? undefined : decide(valueAt(text, gap), false, /(?:^|\s)--?[\w.-]{0,40}$/.test(lead))
    if (found) return found
  }
  if (!isPassword && !/(?:api|secret|access|auth|api-)[ _-]?$|^[^\0-\x7f]/iu.test(isSpaced ? keyword : lead))
    return undefined
  if (isAlphanumeric(text, nameStop ?? end) && !isSpaced) return undefined
  const sentence = endOf(inSentence, text, nameStop ?? end)
  // After the end of a quoted value, the next line assigns to another name.
  const isNextLine = sentence !== undefined && /["'`][;,]?[^\S\n]*\n/.test(text.slice(nameStop ?? end, sentence))
  const isSaid = sentence !== undefined && /[\p{L}\p{M}]\s{0,2}$/u.test(text.slice(nameStop ?? end, sentence))
  const said = sentence === undefined || isNextLine ? undefined : valueAt(text, sentence)
  const found = decide(
    said,
    true,
    isSaid && said !== undefined && /^[.!]?(?:\s|$)/.test(text.slice(said.end, said.end + 2)),
  )
  if (found || !isPassword) return found
  // Scripts without spaces: `密码Tr0ub4dor8xQ9`.
  if (isSpaced && isAlphanumeric(text, end)) return decide(valueAt(text, end), true)
  // A word of such a script may say what the password is for: `密码账号：x`.
  const compound = isSpaced ? endOf(compoundAt, text, end) : undefined
  const ofCompound = compound === undefined ? undefined : decide(valueAt(text, compound), true)
  if (ofCompound) return ofCompound
  const last = nameStop ?? end
  const more = endOf(moreWords, text, last)
  let bare: AssignedSecret | undefined
  for (const stop of more === undefined ? [last] : [last, more]) {
    const place =
      endOf(looseAt, text, stop) ??
      (stop === last ? undefined : endOf(placeAt, text, stop)) ??
      (isInTable ? endOf(cellAt, text, stop) : undefined)
    const value = place === undefined ? undefined : decide(valueAt(text, place), true)
    if (value) return value
    const gap = endOf(gapAt, text, stop)
    const next = gap === undefined ? undefined : valueAt(text, gap)
    if (next && hasAllClasses(text.slice(next.start, next.end))) bare ??= decide(next, true)
    const line = endOf(lineAt, text, stop)
    const alone = line === undefined ? undefined : decide(valueAt(text, line), true, true)
    if (alone && endOf(lineEnd, text, alone.end) !== undefined) return alone
  }
  return bare && { ...bare, isPublished: true, isDefinite: () => false }
}
