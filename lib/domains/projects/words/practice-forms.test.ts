// The forms in which programs and people really write a text: logs, chats, transcripts, source code, markup, encodings. Each is found and
// cut, and the words of another author in the same value remain.
import { describe, expect, it } from 'vitest'
import { tokenize } from '#lib/text/words.ts'
import { cutStrings } from '../values/value-decider.ts'
import { Fingerprints, mergeSpans } from './fingerprints.ts'

/** Writes an erased text and another author's. */
type Write = (own: string, other: string) => string
type Read = (rest: string) => string

const wordsOf = (text: string) => text.split(' ')
/** A few words at a time. */
const parts = (text: string, size = 3) =>
  (text.match(new RegExp(`(?:\\S+ ?){1,${size}}`, 'g')) ?? []).map((part) => part.trim())
const chunks = (text: string, size: number) => text.match(new RegExp(`[^]{1,${size}}`, 'gu')) ?? []
const json = (value: unknown) => JSON.stringify(value)
const base64 = (text: string | Buffer) => Buffer.from(text).toString('base64')
const escaped = (text: string) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/"/g, '&quot;')
const hexOf = (sign: string, length = 4) => (sign.codePointAt(0) ?? 0).toString(16).padStart(length, '0')
const outside = (text: string, write: (sign: string) => string) => text.replace(/[^\x20-\x7e\n]/gu, write)
const eachLetter = (text: string, write: (letter: string) => string) => text.replace(/\p{L}/gu, write)
const inWords = (text: string, between: string) => text.replace(/(\p{L}{4})(?=\p{L}{2})/gu, `$1${between}`)
const everyThird = (text: string, write: (word: string) => string) =>
  wordsOf(text)
    .map((word, n) => (n % 3 === 2 ? write(word) : word))
    .join(' ')

/** Lines with something before each part of the text. */
const lines =
  (before: (n: number) => string, beforeOther: string): Write =>
  (own, other) =>
    `${parts(own)
      .map((part, n) => `${before(n)}${part}`)
      .join('\n')}\n${beforeOther}${other}\n`
const same = (before: string, beforeOther = before): Write => lines(() => before, beforeOther)
const between =
  (sign: string, end = '\n'): Write =>
  (own, other) =>
    `${parts(own).join(sign)}${end}${other}`
const around =
  (before: string, middle: string, after: string, write: (text: string) => string = String): Write =>
  (own, other) =>
    `${before}${write(own)}${middle}${write(other)}${after}`
const perWord =
  (write: (word: string, n: number) => string, sign = ' '): Write =>
  (own, other) =>
    `${wordsOf(own).map(write).join(sign)}\n${other}`
const marked =
  (write: (word: string) => string): Write =>
  (own, other) =>
    `${everyThird(own, write)}\n\n${other}`
const rewritten =
  (write: (text: string) => string): Write =>
  (own, other) =>
    `${write(own)}\n${other}`
const styledFrom = (first: number) =>
  rewritten((text) =>
    text.toLowerCase().replace(/[a-z]/g, (letter) => String.fromCodePoint(first + letter.charCodeAt(0) - 97)),
  )

const logs: Record<string, Write> = {
  pino: (own, other) => `{"level":30,"time":1767,"msg":${json(own)}}\n{"level":30,"time":1768,"msg":${json(other)}}`,
  logfmt: (own, other) =>
    `ts=2026-03-01T10:00:00Z level=info msg=${json(own)}\nts=2026-03-02T10:00:00Z msg=${json(other)}`,
  syslog: lines((n) => `Mar  1 10:00:0${n} host app[123]: `, 'Mar  1 10:00:09 host app[124]: '),
  'a journal': same('Mar 01 10:00:00 box systemd[1]: ', 'Mar 01 10:00:00 box cron[2]: '),
  'services of Compose': same('api-1     | ', 'web-1     | '),
  'pods of Kubernetes': same('[pod/api-7d9f/api] ', '[pod/web-1/web] '),
  'a container runtime': lines(
    (n) => `2026-03-01T10:00:00.12345678${n}Z stdout P `,
    '2026-03-01T10:00:01.1Z stderr F ',
  ),
  Log4j: lines((n) => `10:00:0${n}.123 [main] INFO  com.acme.Chat - `, '10:00:09.123 [main] WARN  com.acme.Chat - '),
  'tracing of Rust': lines(
    (n) => `2026-03-01T10:00:0${n}.0Z  INFO chat::session: `,
    '2026-03-01T10:00:09.0Z  WARN chat::x: ',
  ),
  glog: lines((n) => `I0301 10:00:0${n}.123456  4711 chat.go:42] `, 'W0301 10:00:09.123456  4711 chat.go:42] '),
  'the logger of Ruby': lines(
    (n) => `I, [2026-03-01T10:00:0${n} #47]  INFO -- : `,
    'W, [2026-03-01T10:00:09 #47]  WARN -- : ',
  ),
  'an exception': (own, other) =>
    `IllegalStateException: ${own}\n\tat com.acme.A.b(A.java:12)\nCaused by: ${other}\n\t... 12 more`,
  'an event with extensions': (own, other) => `CEF:0|Acme|Chat|1|100|message|3|suser=7 msg=${own} cs1=${other}`,
  'a search of files': lines((n) => `notes/a.txt:${n + 1}:`, 'notes/b.txt:1:'),
  'an annotated file': lines(
    (n) => `^4832fe2 (Anna 2026-03-01 10:15:39 +0100 ${n + 1}) `,
    '^4832fe2 (Bob 2026-03-01 10:15:39 +0100 99) ',
  ),
  'numbered lines with arrows': lines((n) => `    ${n + 1}→`, '   99→'),
  'numbered lines with a border': lines((n) => `   ${n + 1} │ `, '  99 │ '),
  'numbered lines': lines((n) => `     ${n + 1}\t`, '    99\t'),
  'a compiler': lines((n) => `${n + 1} | `, '  = note: '),
}

const chats: Record<string, Write> = {
  'Slack blocks': (own, other) => {
    const elements = parts(own).map((text, n) => ({
      type: 'text',
      text: `${n > 0 ? ' ' : ''}${text}`,
      style: { bold: n % 2 === 1 },
    }))
    return json([
      { user: 'U1', text: own, blocks: [{ type: 'rich_text', elements }] },
      { user: 'U2', text: other },
    ])
  },
  'a copy from Slack': (own, other) => `Anna Lee  10:02 AM\n${parts(own).join('\n')}\nBob Ray  10:03 AM\n${other}`,
  Discord: (own, other) =>
    `[01-Mar-26 10:00 AM] anna#1234\n${parts(own).join('\n')}\n\n[01-Mar-26 10:01 AM] bob#1111\n${other}`,
  'hidden words': perWord((word) => `||${word}||`),
  'WhatsApp on Android': lines((n) => `3/1/26, 10:0${n} PM - Anna Lee: `, '3/1/26, 10:09 PM - Bob: '),
  'WhatsApp on iOS': lines((n) => `[01.03.26, 22:0${n}:00] Anna Lee: \u200e`, '[01.03.26, 22:09:00] Bob: '),
  Telegram: (own, other) =>
    json({
      messages: [
        { id: 1, text: parts(own).map((text, n) => (n % 2 === 1 ? { type: 'bold', text } : ` ${text} `)) },
        { id: 2, text: other },
      ],
    }),
  'a page of Telegram': (own, other) =>
    `<div class="text">${parts(own)
      .map((text, n) => (n % 2 === 1 ? `<strong>${text}</strong>` : text))
      .join(' ')}</div><div class="text">${other}</div>`,
  IRC: lines((n) => `[10:0${n}] <anna> `, '[10:09] <bob> '),
  WeeChat: lines((n) => `10:00:0${n} anna │ `, '10:00:09  bob │ '),
  'a meeting': lines((n) => `10:00:0${n} From  Anna Lee  to  Everyone:\n\t`, '10:00:09 From  Bob  to  Everyone:\n\t'),
  'a table of messages': (own, other) =>
    `date,sender,text\n2026-03-01,Anna,"${parts(own).join('\n')}"\n2026-03-01,Bob,"${other}"\n`,
  'messages that were read as Latin-1': (own, other) =>
    json([Buffer.from(own).toString('latin1'), Buffer.from(other).toString('latin1')]).replace(
      /[\u0080-\u00ff]/g,
      (sign) => `\\u${hexOf(sign)}`,
    ),
  ChatML: (own, other) =>
    `<|im_start|>user\n${parts(own).join('\n')}<|im_end|>\n<|im_start|>assistant\n${other}<|im_end|>`,
  'a prompt': around('<s>[INST] <<SYS>>\nx\n<</SYS>>\n\n', ' [/INST] ', ' </s>'),
  'two speakers': (own, other) => `\n\nHuman: ${parts(own, 6).join('\n')}\n\nAssistant: ${other}`,
}

const transcripts: Record<string, Write> = {
  SubRip: (own, other) =>
    `${parts(own)
      .map((part, n) => `${n + 1}\n00:00:0${n},000 --> 00:00:0${n},900\n<i>${part}</i>\n`)
      .join('\n')}\n99\n00:01:00,000 --> 00:01:02,000\n${other}\n`,
  'WebVTT with voices': (own, other) =>
    `WEBVTT\n\n${parts(own)
      .map((part, n) => `00:0${n}.000 --> 00:0${n}.900 line:0\n<v Anna>${part}</v>\n`)
      .join('\n')}\n01:00.000 --> 01:02.000\n<v Bob>${other}</v>\n`,
  'WebVTT with times of words': (own, other) =>
    `WEBVTT\n\n00:00.000 --> 00:09.000\n${wordsOf(own)
      .map((word, n) => `<00:00:0${n % 10}.500><c> ${word}</c>`)
      .join('')}\n\n01:00.000 --> 01:02.000\n${other}\n`,
  'subtitles that roll': (own, other) => {
    const cues = parts(own)
    const rolled = cues.map((cue, n) => `00:0${n}.000 --> 00:0${n}.900\n${cues[n - 1] ?? ''}\n${cue}\n`)
    return `WEBVTT\n\n${rolled.join('\n')}\n01:00.000 --> 01:02.000\n${other}\n`
  },
  'styled subtitles': lines(
    () => 'Dialogue: 0,0:00:01.00,0:00:02.00,Default,Anna,0,0,0,,{\\an8}',
    'Dialogue: 0,0:00:09.00,0:00:10.00,Default,Bob,0,0,0,,',
  ),
  'subtitles for singing': (own, other) =>
    `Dialogue: 0,0:00:01.00,0:00:02.00,D,,0,0,0,,${wordsOf(own)
      .map((word) => `{\\k20}${word} `)
      .join('')}\nDialogue: 0,0:00:09.00,0:00:10.00,D,,0,0,0,,${other}`,
  'lyrics with times': lines((n) => `[00:0${n}.50]`, '[00:59.00]'),
  'lyrics with times of words': perWord((word, n) => `<00:0${n % 10}.10> ${word}`),
  'timed paragraphs': (own, other) =>
    `${parts(own)
      .map((part, n) => `<p begin="00:0${n}.0" end="00:0${n}.9">${part}</p>`)
      .join('\n')}<p begin="1" end="2">${other}</p>`,
  'subtitles with a line of times': lines((n) => `0:00:0${n}.000,0:00:0${n}.900\n`, '0:00:59.000,0:01:00.000\n'),
  'subtitles with frames': lines((n) => `{${n * 25}}{${n * 25 + 24}}`, '{900}{999}'),
  'a transcript with times': lines((n) => `0:0${n}\n`, '1:00\n'),
  'a transcript with speakers': lines((n) => `Anna Lee  0:0${n}  \n`, '\nBob Ray  1:00  \n'),
  'a transcript with ranges': lines((n) => `[00:0${n}.000 --> 00:0${n}.900]   `, '[01:00.000 --> 01:02.000]   '),
  'a transcript with numbered speakers': lines(
    (n) => `SPEAKER_00 [0${n}.00s - 0${n}.90s] `,
    'SPEAKER_01 [60.00s - 62.00s] ',
  ),
  'times in brackets': (own, other) =>
    `${parts(own)
      .map((part, n) => `(00:0${n}) ${part}`)
      .join(' ')}\n${other}`,
  'remarks in brackets': between(' [inaudible 00:03] '),
  'words with their times': (own, other) =>
    json({ words: wordsOf(own).map((word, n) => ({ word, start: n / 2, end: n / 2 + 0.4 })), next: other }),
  'words with alternatives': (own, other) =>
    json({
      items: wordsOf(own).map((content, n) => ({
        start_time: `${n}.1`,
        alternatives: [{ confidence: '0.99', content }],
      })),
      transcript: other,
    }),
  'words with places on a page': (own, other) =>
    json({
      Blocks: [
        ...wordsOf(own).map((Text, n) => ({ BlockType: 'WORD', Confidence: 99.1, Text, Id: `w${n}` })),
        { BlockType: 'LINE', Text: other, Id: 'z' },
      ],
    }),
  'a table of recognized words': (own, other) =>
    `level\tnum\tconf\ttext\n${wordsOf(own)
      .map((word, n) => `5\t${n + 1}\t96.1\t${word}`)
      .join('\n')}\n5\t99\t90\t${other}`,
}

const documents: Record<string, Write> = {
  'a rich text in JSON': (own, other) =>
    json([
      { type: 'p', children: parts(own).map((text, n) => ({ text: `${n > 0 ? ' ' : ''}${text}`, bold: n % 2 === 1 })) },
      { children: [{ text: other }] },
    ]),
  'a delta of an editor': (own, other) =>
    json({
      ops: [
        ...parts(own).map((text, n) => ({ insert: `${n > 0 ? ' ' : ''}${text}`, attributes: { bold: n % 2 === 1 } })),
        { insert: `\n${other}\n` },
      ],
    }),
  'a notebook': (own, other) =>
    json({ cells: [{ source: parts(own).map((part) => `${part}\n`) }, { source: [`print('${other}')\n`] }] }),
  'JSON with comments': (own, other) => `{\n  // note\n  text: '${parts(own).join(' \\\n')}',\n  other: "${other}",\n}`,
  'JSON in JSON in JSON': (own, other) => json({ a: json({ b: json({ own, other }) }) }),
  'HTML in JSON': (own, other) =>
    json({ h: `<p>${parts(own).join('<br>')}</p><p>${other}</p>` }).replace(/[<>]/g, (sign) => `\\u${hexOf(sign)}`),
  'a query of GraphQL': (own, other) =>
    `mutation {\n  add(text: """\n    ${parts(own).join('\n    ')}\n  """, o: "${other}") { id }\n}`,
  'text of Protocol Buffers': (own, other) =>
    `text: ${parts(own)
      .map((part) => json(`${part} `))
      .join('\n      ')}\nother: "${other}"`,
  'a block of YAML': between('\n  ', '\nother: '),
  'a folded value of YAML': (own, other) =>
    `note: >-\n  ${parts(own).join('\n  ')}\nother: >-\n  ${parts(other, 6).join(' ')}`,
  'a quoted value of YAML': (own, other) => `note: "${parts(own).join('\\\n  \\ ')}"\nother: "${other}"`,
  'a list of YAML': (own, other) =>
    `${wordsOf(own)
      .map((word) => `- ${word}`)
      .join('\n')}\n- ${other}`,
  'a text of TOML': (own, other) => `note = """\n${parts(own).join(' \\\n    ')}"""\nother = '${other}'`,
  properties: (own, other) =>
    outside(`note=${parts(own).join(' \\\n    ')}\nother=`, (sign) => `\\u${hexOf(sign)}`) + other,
  'a configuration': between('\n\t', '\nother = '),
  'an attribute of XML': (own, other) => `<note text="${escaped(own)}" by="1"/><note text="${escaped(other)}"/>`,
  'sections of XML': (own, other) => `<n><![CDATA[${parts(own).join(']]]]><![CDATA[>')}]]></n><n>${other}</n>`,
  'a message of SOAP': (own, other) => `<m:T>${parts(own).join('&#xD;\n')}</m:T><m:O>${other}</m:O>`,
  'strings of an app': around('"note" = "', '";\n"other" = "', '";'),
  translations: (own, other) =>
    `msgid ""\n${parts(own)
      .map((part) => json(`${part} `))
      .join('\n')}\nmsgstr "${other}"`,
  'annotated words': (own, other) =>
    `<s>${wordsOf(own)
      .map((word) => `<w lemma="x">${word}</w>`)
      .join('')}</s><s>${other}</s>`,
  'words of a scanned page': (own, other) =>
    `<span>${wordsOf(own)
      .map((word, n) => `<span id='word_${n}' title='bbox 1 2 3 ${n}'>${word}</span>`)
      .join(' ')}</span><p>${other}</p>`,
  'lines of a drawing': (own, other) =>
    `<text>${parts(own)
      .map((part, n) => `<tspan dy="${n}em">${part}</tspan>`)
      .join('')}</text><text>${other}</text>`,
  'a table in quotation marks': (own, other) => `id,text\r\n1,"${parts(own).join('\r\n')}"\r\n2,"${other}"\r\n`,
  'a row of words': (own, other) => `${wordsOf(own).join(',')}\n${other}`,
  'a cell of Markdown': (own, other) => `| a | b |\n|---|---|\n| ${parts(own).join('<br>')} | ${other} |`,
  'a table of a terminal': (own, other) =>
    `+----+------+\n${parts(own)
      .map((part, n) => `| ${n > 0 ? ' ' : '1'}  | ${part.padEnd(28)} |`)
      .join('\n')}\n+----+------+\n| 2  | ${other} |`,
  'a table of psql': (own, other) =>
    ` id |  note\n----+-----\n${parts(own)
      .map((part, n) => ` ${n > 0 ? ' ' : '1'} | ${part.padEnd(28)}+`)
      .join('\n')}\n  2 | ${other}\n(2 rows)`,
  'rows one below the other': (own, other) =>
    `*** 1. row ***\n  id: 1\nnote: ${parts(own).join('\n')}\n*** 2. row ***\nnote: ${other}`,
  'a box': (own, other) =>
    `╭──╮\n${parts(own)
      .map((part) => `│ ${part.padEnd(30)} │`)
      .join('\n')}\n╰──╯\n${other}`,
}

const code: Record<string, Write> = {
  'a dump of PostgreSQL': (own, other) =>
    `COPY n (id, text) FROM stdin;\n1\t${parts(own).join('\\n')}\n2\t${other}\n\\.`,
  'a dump of MySQL': (own, other) => `INSERT INTO \`n\` VALUES (1,'${parts(own).join('\\r\\n')}'),(2,'${other}');`,
  'a string between dollars': (own, other) => `SELECT $note$${parts(own).join('\n')}$note$, '${other}';`,
  'an array of SQL': (own, other) =>
    `{${parts(own)
      .map((part) => `"${part}"`)
      .join(',')},"${other}"}`,
  'pairs of hstore': around('"text"=>"', '", "other"=>"', '"'),
  'values of PHP': (own, other) =>
    `a:2:{s:4:"text";s:${Buffer.byteLength(own)}:"${own}";s:5:"other";s:${Buffer.byteLength(other)}:"${other}";}`,
  'an array of PHP': around("array (\n  'text' => '", "',\n  'other' => '", "',\n)"),
  'a dump of PHP': around('array(2) {\n  ["text"]=>\n  string(9) "', '"\n  ["other"]=>\n  string(9) "', '"\n}'),
  'a hash of Ruby': (own, other) => `{:text=>${json(parts(own).join('\n'))}, :other=>${json(other)}}`,
  'a document in Ruby': (own, other) => `note = <<~TEXT\n  ${parts(own).join('\n  ')}\nTEXT\nother = "${other}"`,
  'a value of Python': (own, other) => `{'text': '${parts(own).join('\\n')}', 'other': '${other}'}`,
  'a value of Python in ASCII': (own, other) =>
    `{'text': '${outside(own, (sign) => (sign < '\u0100' ? `\\x${hexOf(sign, 2)}` : `\\u${hexOf(sign)}`))}', 'other': '${other}'}`,
  'bytes of Python': (own, other) =>
    `b'${[...Buffer.from(own)].map((byte) => (byte > 126 ? `\\x${byte.toString(16)}` : String.fromCharCode(byte))).join('')}' '${other}'`,
  'strings that Python joins': (own, other) =>
    `msg = (\n    ${parts(own)
      .map((part) => `f"${part} "`)
      .join('\n    ')}\n)\nother = '${other}'`,
  'a text of Java': (own, other) => `String s = """\n    ${parts(own).join(' \\\n    ')}""";\nString o = "${other}";`,
  'strings with plus signs': (own, other) =>
    `String s = ${parts(own)
      .map((part) => json(`${part} `))
      .join('\n    + ')};\nString o = "${other}";`,
  'strings of C': (own, other) =>
    `char *s = ${parts(own)
      .map((part) => json(`${part} `))
      .join('\n  ')};\nchar *o = "${other}";`,
  'units of C#': (own, other) => `"${outside(own, (sign) => `\\x${hexOf(sign)}`)}" "${other}"`,
  'strings of Visual Basic': (own, other) =>
    `s = ${parts(own)
      .map((part) => `"${part} "`)
      .join(' & _\n    ')}\no = "${other}"`,
  'a value of Go': around('main.Note{Text:"', '", Other:"', '"}'),
  'code points of Rust': (own, other) =>
    `Note { text: "${outside(own, (sign) => `\\u{${hexOf(sign, 1)}}`)}", other: Some("${other}") }`,
  'code points of Perl': (own, other) =>
    `{ 'text' => "${outside(own, (sign) => `\\x{${hexOf(sign, 1)}}`)}", 'other' => '${other}' };`,
  'a map of Elixir': around('%{text: ~s(', '), other: "', '"}'),
  'a map of Clojure': around('{:text "', '" :other "', '"}'),
  'a comment in a block': (own, other) => `/**\n * ${parts(own).join('\n * ')}\n */\n// ${other}`,
  'comments with numbers signs': same('# ', 'x = '),
  'comments with slashes': same('  // ', '  let x = '),
  'comments of SQL': same('-- ', 'SELECT '),
  'a text of PowerShell': (own, other) => `$s = @"\n${parts(own).join('\n')}\n"@\n$o = '${other}'`,
  'words of a shell': (own, other) => `${own.replace(/ /g, '\\ ')} '${other}'`,
  'data of curl': (own, other) => `curl -d '{"text":"${own}"}' -H "X: y" --data "o=${other}"`,
  'lines that a command continues': between(' ^\r\n  ', '\r\necho '),
  'a patch in colors': (own, other) =>
    `\u001b[36m@@ -1,3 +1,3 @@\u001b[m\n${parts(own)
      .map((part) => `\u001b[31m-${part}\u001b[m`)
      .join('\n')}\n\u001b[32m+${other}\u001b[m`,
  'a conflict': (own, other) => `<<<<<<< HEAD\n${parts(own).join('\n')}\n=======\n${other}\n>>>>>>> branch`,
  'a normal difference': (own, other) =>
    `1,3c1\n${parts(own)
      .map((part) => `< ${part}`)
      .join('\n')}\n---\n> ${other}`,
  'a commit': (own, other) =>
    `commit 1234567\nAuthor: A <a@b.example>\n\n    ${parts(own).join('\n    ')}\n\ndiff --git a/x b/x\n+${other}`,
}

const markup: Record<string, Write> = {
  emphasis: marked((word) => `**${word}**`),
  'hard breaks': between('  \n', '\n\n'),
  'breaks with a backslash': between('\\\n', '\n\n'),
  'a quoted list': same('> - ', '\n'),
  tasks: lines((n) => `- [${n % 2 === 0 ? ' ' : 'x'}] `, '\n'),
  'a numbered list': lines((n) => `${n + 1}. `, '\n'),
  footnotes: (own, other) =>
    `${parts(own)
      .map((part, n) => `${part}[^${n}]`)
      .join(' ')}\n\n[^0]: ${other}`,
  'links with references': (own, other) =>
    `${everyThird(own, (word) => `[${word}][1]`)}\n\n${other}\n\n[1]: https://x.example`,
  'the text of an image': around('![', '](a.png "', '")'),
  'a callout': (own, other) => `> [!NOTE]\n> ${parts(own).join('\n> ')}\n\n${other}`,
  'bold words of a wiki': marked((word) => `'''${word}'''`),
  'answers of a wiki': lines((n) => `${':'.repeat(n + 1)} `, '\n'),
  'cells of a wiki': (own, other) => `{| class="wikitable"\n|-\n| ${parts(own).join(' || ')}\n|-\n| ${other}\n|}`,
  'colors of an issue tracker': marked((word) => `{color:red}${word}{color}`),
  'roles of reStructuredText': marked((word) => `:emphasis:\`${word}\``),
  'lines of reStructuredText': same('| ', '\n'),
  BBCode: marked((word) => `[color=#f00]${word}[/color]`),
  'a quotation in LaTeX': (own, other) => `\\begin{quote}\n${parts(own).join('\\\\\n')}\n\\end{quote}\n${other}`,
  'an entry of BibTeX': (own, other) =>
    `@misc{a,\n  note = {${parts(own).join('\n          ')}},\n  title = "{${other}}"\n}`,
  'elements of words': (own, other) =>
    `<div>${wordsOf(own)
      .map((word) => `<span>${word}</span>`)
      .join(' ')}</div><div>${other}</div>`,
  'spaces that do not break': (own, other) => `<p>${wordsOf(own).join('&nbsp;')}</p><p>${other}</p>`,
  'places where a word may break': (own, other) => `<p>${inWords(own, '<wbr>')}</p><p>${other}</p>`,
  'soft hyphens': (own, other) => `<p>${inWords(own, '&shy;')}</p><p>${other}</p>`,
  'comments of HTML': (own, other) => `<p>${parts(own).join('<!-- x --> ')}</p><p>${other}</p>`,
  'cells of HTML': (own, other) =>
    `<table><tr>${parts(own)
      .map((part) => `<td>${part}</td>`)
      .join('')}</tr><tr><td>${other}</td></tr></table>`,
  'letters in elements': (own, other) =>
    `<p>${eachLetter(own, (letter) => `<span>${letter}</span>`)}</p><p>${other}</p>`,
  'data of an element': (own, other) => `<div data-props="${escaped(json({ own, other }))}"></div>`,
  'a document in an attribute': (own, other) => `<iframe srcdoc="${escaped(`<p>${own}</p><p>${other}</p>`)}"></iframe>`,
  'paragraphs of an email program': (own, other) =>
    `<p class=MsoNormal>${parts(own)
      .map((part) => `<span style='a:b'>${part}<o:p></o:p></span>`)
      .join(' ')}</p><p>${other}</p>`,
  'a quoted email': (own, other) => `On Mon, Anna wrote:\n> ${parts(own).join('\n> ')}\n\n${other}`,
  'a flowed email': between(' \r\n', '\r\n\r\n'),
}

const letters: Record<string, Write> = {
  'colors of a terminal': perWord((word, n) => `\u001b[38;5;${n}m${word}\u001b[0m`),
  'colors that a terminal shows': perWord((word) => `^[[1m${word}^[[0m`),
  'colors without their first sign': perWord((word) => `[1m${word}[0m`),
  'letters printed twice': rewritten((text) => eachLetter(text, (letter) => `${letter}\b${letter}`)),
  'underlined letters': rewritten((text) => eachLetter(text, (letter) => `_\b${letter}`)),
  'spelled words': (own, other) =>
    `${wordsOf(own)
      .map((word) => [...word].join(' '))
      .join('   ')}\n${other}`,
  'words with dots': (own, other) =>
    `${wordsOf(own)
      .map((word) => [...word].join('.'))
      .join(' ')}\n${other}`,
  'hyphens at line ends': rewritten((text) => inWords(text, '-\n')),
  'hyphens in a quotation': (own, other) => `> ${inWords(own, '-\n> ')}\n\n${other}`,
  'letters of full width': rewritten((text) =>
    text.replace(/[!-~]/g, (sign) => String.fromCharCode(sign.charCodeAt(0) + 0xfee0)),
  ),
  'mathematical letters': styledFrom(0x1d41a),
  'letters in circles': styledFrom(0x24d0),
  'letters in brackets': styledFrom(0x249c),
  'letters in squares': styledFrom(0x1f130),
  'letters in dark squares': styledFrom(0x1f170),
  flags: styledFrom(0x1f1e6),
  'small capitals': rewritten((text) =>
    text.toLowerCase().replace(/[abcdeginr]/g, (letter) => 'ᴀʙᴄᴅᴇɢɪɴʀ'['abcdeginr'.indexOf(letter)] ?? letter),
  ),
  'struck letters': rewritten((text) => eachLetter(text, (letter) => `${letter}\u0336`)),
  'marks of their own': rewritten((text) => text.normalize('NFD')),
  'zero-width spaces': rewritten((text) => text.replace(/\p{L}(?=\p{L})/gu, '$&\u200b')),
  'marks of direction': perWord((word) => `\u2068${word}\u2069`),
  'signs that choose a glyph': rewritten((text) => eachLetter(text, (letter) => `${letter}\ufe0e`)),
  capitals: rewritten((text) => text.toUpperCase()),
  'a name of a file': (own, other) => `${own.replace(/ /g, '_')}.md\n${other}`,
  hashtags: perWord((word) => `#${word}`),
  'pictures between words': perWord(String, ' 👏 '),
  'slashes between lines': between(' / '),
  'a word in each line': perWord(String, '\n'),
  'code points': (own, other) => `${[...own].map((sign) => `U+${hexOf(sign).toUpperCase()}`).join(' ')}\n${other}`,
  'code points without spaces': (own, other) =>
    `${[...own].map((sign) => `U+${hexOf(sign).toUpperCase()}`).join('')}\n${other}`,
  'code points in brackets': rewritten((text) => outside(text, (sign) => `<U+${hexOf(sign).toUpperCase()}>`)),
}

const fromBase64 = (text: string) => Buffer.from(text, 'base64').toString()
const signsOfBase32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
const base32 = (text: string) =>
  chunks([...Buffer.from(text)].map((byte) => byte.toString(2).padStart(8, '0')).join(''), 5)
    .map((bits) => signsOfBase32[Number.parseInt(bits.padEnd(5, '0'), 2)])
    .join('')
const fromBase32 = (text: string) => {
  const bits = [...text.toUpperCase()].map((sign) => signsOfBase32.indexOf(sign)).filter((value) => value >= 0)
  const bytes =
    bits
      .map((value) => value.toString(2).padStart(5, '0'))
      .join('')
      .match(/.{8}/g) ?? []
  return Buffer.from(bytes.map((byte) => Number.parseInt(byte, 2))).toString()
}
const inLines = (encoded: string, width: number, before: string) =>
  chunks(encoded, width)
    .map((line) => `${before}${line}`)
    .join('\n')
const withoutBefore = (before: string) => (text: string) =>
  text
    .split('\n')
    .map((line) => (line.startsWith(before.trimEnd()) ? line.slice(before.trimEnd().length).trim() : line))
    .join('')
const base64In = (width: number, before: string): { write: Write; read: Read } => ({
  write: (own, other) => inLines(base64(`${own}\n${other}`), width, before),
  read: (rest) => fromBase64(withoutBefore(before)(rest)),
})
const base32In = (width: number, before: string): { write: Write; read: Read } => ({
  write: (own, other) => inLines(base32(`${own}\n${other}`), width, before),
  read: (rest) => fromBase32(withoutBefore(before)(rest)),
})
const encodings: Record<string, { write: Write; read: Read }> = {
  'Base64 in a quotation': base64In(76, '> '),
  'Base64 in comments': base64In(60, '# '),
  'Base64 in comments of C': base64In(64, '// '),
  'Base64 in a patch': base64In(76, '+'),
  'Base64 in a log': base64In(64, '2026-03-01T10:00:00Z INFO [w] '),
  'Base64 in narrow lines': base64In(40, ''),
  'Base64 in indented lines': base64In(32, '    '),
  'Base64 in strings': {
    write: (own, other) =>
      chunks(base64(`${own}\n${other}`), 48)
        .map((line) => `"${line}"`)
        .join(' +\n  '),
    read: (rest) => fromBase64(rest.replace(/" \+\n {2}"|"/g, '')),
  },
  'Base64 in an entry of a directory': {
    write: (own, other) => `dn: cn=x\ndescription:: ${chunks(base64(own), 60).join('\n ')}\nsn: ${other}\n`,
    read: (rest) => `${rest}\n${fromBase64(rest.replace(/\n /g, '').match(/:: (\S*)/)?.[1] ?? '')}`,
  },
  'Base32 in small letters': {
    write: (own, other) => `note=${base32(`${own}\n${other}`).toLowerCase()}`,
    read: (rest) => fromBase32(rest.slice(5)),
  },
  'Base32 in a quotation': base32In(64, '> '),
  'Base32 in comments': base32In(64, '# '),
  'a list of code points': {
    write: (own, other) => json({ points: [...own].map((sign) => sign.codePointAt(0)), other }),
    read: (rest) => {
      const { points, other } = JSON.parse(rest)
      return `${String.fromCodePoint(...points)}\n${other}`
    },
  },
}

const sentences: Record<string, [own: string, other: string]> = {
  English: [
    'I have suffered from cobalt fever since the house in Rhabarberstrasse burned down last winter',
    'The committee meets every second Tuesday about the annual budget of our little harbor library',
  ],
  Russian: [
    'С прошлой весны я болею редкой лихорадкой и живу в больнице возле старого железного моста',
    'Комитет библиотеки собирается каждый второй вторник обсуждать годовой бюджет нашего маленького города',
  ],
}
// biome-ignore lint/suspicious/noControlCharactersInRegex: terminals are controlled by them
const hidden = /\p{Cf}|\p{Mn}|\u001b\[[\d;]*m/gu
const read = (text: string) => tokenize(text.replace(hidden, '')).map(({ word }) => word)
const undone = (text: string) =>
  text.replace(/\\u([0-9a-f]{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
const readers: Record<string, Read> = {
  'HTML in JSON': undone,
  properties: undone,
  'messages that were read as Latin-1': (rest) => Buffer.from(undone(rest), 'latin1').toString(),
}

describe.each(
  Object.entries({ logs, chats, transcripts, documents, code, markup, letters, encodings }).map(
    ([kind, table]) => [kind, table] as const,
  ),
)('%s', (_kind, table) => {
  it.each(Object.keys(table))('%s: the erased words are cut, and those of another author remain', (name) => {
    const form = table[name]
    const write = typeof form === 'function' ? form : form?.write
    const reader = (typeof form === 'function' ? readers[name] : form?.read) ?? String
    for (const [own, other] of Object.values(sentences)) {
      const words = new Fingerprints(Buffer.alloc(8, 7))
      words.add(own)
      const stored = write?.(own, other) ?? ''
      expect(words.runsIn(write?.(other, other) ?? '')).toEqual([])
      expect(words.runsIn(stored).length).toBeGreaterThan(0)
      const rest = cutStrings(stored, (text) => mergeSpans(words.runsIn(text))) ?? ''
      const [left, mine, theirs] = [read(reader(rest)), read(own), read(other)]
      expect(` ${left.join(' ')} `).toContain(` ${theirs.join(' ')} `)
      const remaining = mine.filter((word) => word.length > 4 && left.includes(word) && !theirs.includes(word))
      expect(remaining).toEqual([])
    }
  })
})
