/** A table or view that a source file names in SQL or in a Prisma call. */
export interface TableReference {
  table: string
  isWrite: boolean
  line: number
}

const identifier = '"?([a-z_][a-z0-9_]*)"?'
/** A clause that a list of tables follows. `DELETE FROM`, `INSERT INTO` and `MERGE INTO` write. */
const clause = new RegExp(
  String.raw`\b(DELETE\s+FROM|FROM|JOIN|INTO|UPDATE|USING|LOCK\s+TABLE|TRUNCATE|TABLE)\s+(?:ONLY\s+|LATERAL\s+)?${identifier}`,
  'g',
)
const nextInList = new RegExp(
  String.raw`^(?:\s+(?:AS\s+)?[a-z_][a-z0-9_]*)?\s*,\s*(?:LATERAL\s+|ONLY\s+)?${identifier}(?!\s*[(.])`,
)
const writes = /^(DELETE|INTO|UPDATE|LOCK|TRUNCATE)/
const prismaCall =
  /\.([a-z]\w*)\s*\.\s*(find(?:Unique|First|Many)(?:OrThrow)?|count|aggregate|groupBy|create(?:Many)?(?:AndReturn)?|update(?:Many)?(?:AndReturn)?|upsert|delete(?:Many)?)\s*\(/g
/** A string that begins with a table and its alias or join, or the value of a property for table names: SQL is composed with it. */
const composed = [
  new RegExp(
    String.raw`['"\x60]${identifier}\s+(?:[a-z]{1,3}(?=['"\x60])|[a-z]{1,3}\s+(?:JOIN|LEFT|CROSS|WHERE)\b|(?:JOIN|LEFT|CROSS)\b)`,
    'g',
  ),
  new RegExp(String.raw`\b(?:table|tableName|from|source|relation)\s*[:=]\s*\[?['"\x60]${identifier}['"\x60]`, 'g'),
]
/** SQL with a computed table name: every string of the file that equals a table's name counts. */
const computed = /\b(?:FROM|JOIN|INTO|UPDATE|USING|TABLE)\s+(?:ONLY\s+)?\$\{/
const wholeString = new RegExp(String.raw`(['"\x60])${identifier}\1`, 'g')

/** Replaces comments by spaces, so that positions stay. A `//` after a colon belongs to an address. */
const withoutComments = (source: string): string =>
  source
    .replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ' '))
    .replace(/(^|[^:])\/\/[^\n]*/g, (comment, before: string) => before + ' '.repeat(comment.length - before.length))

/**
 * Finds the known tables that a source file names. SQL keywords are upper-case in this project, and names lower-case, so that prose is not
 * mistaken for SQL. A table that is reached only through a nested `include` or `select` of Prisma is not found.
 */
export function tableReferences(
  source: string,
  isTable: (name: string) => boolean,
  tableOfModel: (delegate: string) => string | undefined,
): TableReference[] {
  const text = withoutComments(source)
  const found: TableReference[] = []
  const add = (table: string | undefined, isWrite: boolean, at: number) => {
    if (table !== undefined && isTable(table))
      found.push({ table, isWrite, line: text.slice(0, at).split('\n').length })
  }
  for (const match of text.matchAll(clause)) {
    const [whole, keyword = '', first] = match
    add(first, writes.test(keyword), match.index)
    let at = match.index + whole.length
    for (let next = nextInList.exec(text.slice(at, at + 200)); next; next = nextInList.exec(text.slice(at, at + 200))) {
      add(next[1], writes.test(keyword), at)
      at += next[0].length
    }
  }
  for (const match of text.matchAll(prismaCall))
    add(tableOfModel(match[1] ?? ''), !/^(find|count|aggregate|groupBy)/.test(match[2] ?? ''), match.index)
  for (const pattern of composed) for (const match of text.matchAll(pattern)) add(match[1], false, match.index)
  if (computed.test(text)) for (const match of text.matchAll(wholeString)) add(match[2], false, match.index)
  return found
}
