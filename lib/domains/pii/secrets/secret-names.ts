/**
 * Words that name a secret, by language, in lower case. A word with spaces or hyphens is written as people write it. The languages are
 * those of the largest communities of software users; CLDR's language codes name them.
 */

/** Words for password, passphrase and PIN. */
const passwordWords: Readonly<Record<string, string>> = {
  en: 'password|passwd|passphrase|passcode|pass phrase|pass code|pwd|passw|userpass|rootpw|bindpw|pgpass|requirepass|masterauth',
  af: 'wagwoord',
  ar: 'كلمة المرور|كلمة السر|كلمة مرور|الرقم السري',
  az: 'şifrə|parol',
  bg: 'парола',
  bn: 'পাসওয়ার্ড',
  ca: 'contrasenya',
  cs: 'heslo',
  da: 'adgangskode|kodeord',
  de: 'passwort|kennwort|passwörter|zugangscode',
  el: 'κωδικός|κωδικος|συνθηματικό|κωδικός πρόσβασης',
  es: 'contraseña|contrasena|clave de acceso|palabra clave',
  et: 'parool|salasõna',
  eu: 'pasahitza',
  fa: 'رمز عبور|گذرواژه|رمز ورود|کلمه عبور',
  fi: 'salasana',
  fr: 'mot de passe|mots de passe|motdepasse|mdp|code secret',
  gl: 'contrasinal',
  he: 'סיסמה|סיסמא|הסיסמה',
  hi: 'पासवर्ड|कूटशब्द',
  hr: 'lozinka|zaporka|šifra',
  hu: 'jelszó|jelszava|jelszo',
  hy: 'գաղտնաբառ',
  id: 'kata sandi|sandi',
  is: 'lykilorð',
  it: "parola d'ordine|parola d’ordine|parola chiave",
  ja: 'パスワード|パスフレーズ|暗証番号|合言葉',
  ka: 'პაროლი',
  kk: 'құпиясөз|құпия сөз',
  ko: '비밀번호|패스워드|암호|비번',
  lt: 'slaptažodis',
  lv: 'parole',
  mk: 'лозинка',
  ms: 'kata laluan',
  nb: 'passord',
  nl: 'wachtwoord',
  pl: 'hasło|haslo|hasła',
  pt: 'senha|palavra-passe|palavra passe',
  ro: 'parolă|parola',
  ru: 'пароль|пароля|паролем',
  sl: 'geslo',
  sq: 'fjalëkalimi|fjalekalimi',
  sv: 'lösenord|losenord|lösen',
  sw: 'nenosiri',
  ta: 'கடவுச்சொல்',
  th: 'รหัสผ่าน',
  tr: 'şifre|sifre',
  ur: 'پاس ورڈ',
  vi: 'mật khẩu|mat khau',
  zh: '密码|密碼|口令',
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
  Object.values(data).flatMap((words) => words.split('|'))
export const passwordNames: ReadonlySet<string> = new Set(wordsOf(passwordWords))
export const shortPasswordNames: ReadonlySet<string> = new Set(shortPasswordWords.split('|'))
export const keyNames: ReadonlySet<string> = new Set(wordsOf(keyWords).filter((word) => !passwordNames.has(word)))

/** Verbs between the name of a secret and its value: `the password is …`, `Passwort lautet …`, `パスワードは…`. */
export const copulas =
  'is|was|are|set to|reset to|changed to|now|ist|lautet|war|est|était|es|era|é|è|sarà|jest|brzmi|to|je|är|er|on|este|adalah|ialah|là|είναι|это|е|هو|هي|היא|הוא|است|है|คือ|は|が|는|은|이|가|是|为|為|即|：'

/** What may follow the word in a name that still names the secret: `password2`, `PASSWORD_PROD`. */
export const nameEndings =
  'prod|production|dev|development|staging|stage|test|qa|root|admin|user|users|db|database|default|value|val|text|txt|plain|plaintext|string|str|env|new|old|main|primary|backup|live|sandbox|local|remote|master|api|app|web|raw|b64|base64'

/** Parts before `key` or `token` whose values identify something and are not secret. */
export const identifierParts =
  'public|pub|publishable|anon|primary|foreign|partition|sort|cache|idempotency|page|next|prev|continuation|cursor|sync|resume|fingerprint|hash|registry|integrity|mint|contract|asset|program|address|measurement|site|tracking|translation|message|storage|bucket|object|s3|row|react|lookup|unique|dedupe|routing'
