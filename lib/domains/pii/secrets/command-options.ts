import { isChosen, isNoLiteral, isPublishedValue } from './secret-values.ts'

/** Options of commands whose value is a password or `user:password`, with the programs that have them. The option precedes its value. */
const options: readonly (readonly [option: string, programs: string, value: 'password' | 'pair' | 'percent'])[] = [
  [
    '-u',
    'curl|wget|httpie|https?|xh|ab|mosquitto_(?:pub|sub)|svn|ldapsearch|jfrog|jf|hey|lftp|nxc|crackmapexec|influx|mc',
    'pair',
  ],
  ['--user', 'curl|wget|docker|svn|lftp|http', 'pair'],
  ['--user=', 'curl|wget|lftp|http', 'pair'],
  ['--proxy-user', 'curl|wget', 'pair'],
  ['-U', 'curl', 'pair'],
  ['-a', 'https?|xh|redis-cli|valkey-cli', 'pair'],
  ['--auth', 'https?|xh', 'pair'],
  ['--creds', 'etcdctl|skopeo|buildah|podman', 'pair'],
  ['--src-creds', 'skopeo', 'pair'],
  ['--dest-creds', 'skopeo', 'pair'],
  ['-U', 'smbclient|rpcclient|net|smbget|pth-\\w+', 'percent'],
  ['-a', 'redis-cli|valkey-cli|keydb-cli', 'password'],
  [
    '-p',
    'mysql|mysqldump|mysqladmin|mysqlimport|mysqlsh|mysqlcheck|mariadb\\S*|sshpass|docker|podman|nerdctl|helm|buildah|skopeo|az|mongo\\S*|cqlsh|7z[ar]?|rar|unrar|rdesktop|vncpasswd|crackmapexec|nxc|oc|cf|ibmcloud|clickhouse\\S*|snowsql|trino|nmcli|evil-winrm|cypher-shell|neo4j\\S*|ansible\\S*|expect|ejabberdctl|kinit|cadaver|kafka\\S*|mc',
    'password',
  ],
  ['-P', 'sqlcmd|bcp|isql|tsql|osql|mosquitto_(?:pub|sub)|zip|unzip|ipmitool|ipmi\\S*|plink|pscp|mc', 'password'],
  ['-pw', 'plink|pscp|psftp|putty|winscp', 'password'],
  ['-w', 'ldap\\w+|slap\\w+|nmcli', 'password'],
  ['-A', 'snmp\\w+', 'password'],
  ['-X', 'snmp\\w+', 'password'],
  ['-k', 'openssl', 'password'],
  ['-storepass', 'keytool|jarsigner', 'password'],
  ['-keypass', 'keytool|jarsigner', 'password'],
  ['-srcstorepass', 'keytool', 'password'],
  ['-deststorepass', 'keytool', 'password'],
  ['/p:', 'xfreerdp|wfreerdp|rdesktop|mstsc', 'password'],
  ['/rp', 'schtasks', 'password'],
  ['-a', 'curl', 'pair'],
]

/** Words of commands and statements that a password follows: SQL, PowerShell, configuration shells. */
const statements: readonly (readonly [keyword: string, form: RegExp])[] = [
  [
    'identified',
    /identified[ \t\n]{1,4}(?:with[ \t]+[\w'"@]{1,40}[ \t]+)?by[ \t]{1,4}(?:password[ \t]+)?(?=\\?["'`])/iy,
  ],
  [
    'convertto-securestring',
    /convertto-securestring[ \t]{1,4}(?:-asplaintext[ \t]+|-force[ \t]+|-string[ \t]+){0,3}(?=["'])/iy,
  ],
  ['networkcredential', /networkcredential\s?\(\s?(?:["'][^"'\n]{0,80}["']|[\w.$]{1,40})\s?,\s?(?=["'])/iy],
  ['pscredential', /pscredential\s?\(\s?(?:["'][^"'\n]{0,80}["']|[\w.$]{1,40})\s?,\s?(?=["'])/iy],
  ['authtoken', /authtoken[ \t]{1,3}(?=[\w"'])/iy],
  ['requirepass', /requirepass[ \t]{1,4}/iy],
  ['masterauth', /masterauth[ \t]{1,4}/iy],
  ['chpasswd', /(?<=echo[ \t]{1,2}["']?[\w.-]{1,32}):(?=\S{1,64}["']?[ \t]?\|[ \t]?chpasswd)/iy],
  ['psk', /psk[ \t]?=[ \t]?(?=["'])/iy],
]

const byOption = new Map<string, { programs: RegExp; value: 'password' | 'pair' | 'percent' }[]>()
for (const [option, programs, value] of options)
  byOption.set(option, [
    ...(byOption.get(option) ?? []),
    // The program, at the start of a command, and anything but the end of the command.
    {
      programs: new RegExp(String.raw`(?:^|[\s/"'\x60;&|(])(?:${programs})(?:\.exe)?[ \t"][^\n|;]{0,240}$`, 'i'),
      value,
    },
  ])
const byStatement = new Map(statements)

/** Lower-case texts before the value of an option, or of a statement. */
export const commandKeywords: readonly string[] = [
  ...new Set([...byOption.keys()].map((option) => ` ${option.toLowerCase()}`)),
  ...byStatement.keys(),
]

/** Options that join the value without a space: `mysql -pSecret`. */
const joined = new Set(['-p', '-u', '/p:', '--user=', '-a', '-w'])
const before = 256
const gapAt = /[ \t]{1,3}(?:\\\r?\n[ \t]{1,12})?/y
const valueIn = /(?:\\?"([^"\n]{1,160}?)\\?"|'([^'\n]{1,160})'|([^\s"'`<>|;&()]{1,160}))/y

interface OptionSecret {
  start: number
  end: number
  isPublished: boolean
}

function secretIn(text: string, at: number, form: 'password' | 'pair' | 'percent'): OptionSecret | undefined {
  valueIn.lastIndex = at
  const match = valueIn.exec(text)
  const value = match?.[1] ?? match?.[2] ?? match?.[3] ?? ''
  if (!match || value === '') return undefined
  const start = at + match[0].indexOf(value)
  const isQuoted = match[3] === undefined
  const border = form === 'password' ? -1 : value.indexOf(form === 'pair' ? ':' : '%')
  if (form !== 'password' && border < 0) return undefined
  const password = value.slice(border + 1).replace(/[.,]$/, '')
  const name = value.slice(0, Math.max(0, border))
  if (isNoLiteral(password) || isNoLiteral(name) || password.length < 4 || /^\d{1,5}$/.test(password)) return undefined
  // A word may be a password after `user:`; elsewhere it may be a value of another option.
  if (form === 'password' && !isChosen(password, isQuoted)) return undefined
  return { start, end: start + border + 1 + password.length, isPublished: isPublishedValue(password) }
}

/** The password, or `user:password`, after this option of a command or this statement. */
export function commandSecretAt(text: string, keyword: string, start: number): OptionSecret | undefined {
  const statement = byStatement.get(keyword)
  if (statement) {
    const from = keyword === 'chpasswd' ? text.lastIndexOf(':', start) : start
    statement.lastIndex = from
    return from >= 0 && start - from < 100 && statement.test(text)
      ? secretIn(text, statement.lastIndex, 'password')
      : undefined
  }
  const end = start + keyword.length
  const option = text.slice(start + 1, end)
  const known = byOption.get(option)
  if (known === undefined) return undefined
  gapAt.lastIndex = end
  const isJoined = keyword.endsWith('=') || keyword.endsWith(':') || !gapAt.test(text)
  const gap = isJoined ? end : gapAt.lastIndex
  if (gap === end && !joined.has(option)) return undefined
  const command = text.slice(Math.max(0, start - before), start + 1).replace(/\\\r?\n[ \t]*/g, ' ')
  for (const { programs, value } of known) {
    if (!programs.test(command)) continue
    const found = secretIn(text, gap, value)
    if (found) return found
  }
  return undefined
}
