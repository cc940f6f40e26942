/** A table or view that a source file names in SQL or in a Prisma call. */
export interface TableReference {
  table: string
  isWrite: boolean
  line: number
}

/** The tables of a Prisma schema. */
export interface SchemaTables {
  /** Also true for views. */
  isTable(name: string): boolean
  /** The table of a delegate of the Prisma client: `skillFile` → `skill_files`. */
  tableOf(delegate: string): string | undefined
  /** The table that a relation field of the delegate's model leads to. */
  relationOf(delegate: string, field: string): string | undefined
}

const identifier = '"?([a-z_][a-z0-9_]*)"?'
/** A clause that a list of tables follows. */
const clause = /\b(DELETE\s+FROM|FROM|JOIN|INTO|UPDATE|USING|LOCK\s+TABLE|TRUNCATE|TABLE)\s+/g
/** The syntax that may precede an item of the list. */
const prefix = /(?:(?:ONLY|LATERAL)\s+)*/y
const tableName = /"?([a-z_][a-z0-9_]*)"?/y
/** The syntax that may follow an item: an alias, with or without columns. */
const alias = /(?:\s+WITH\s+ORDINALITY)?(?:\s+(?:AS\s+)?[a-z_][a-z0-9_]*)?/y
const comma = /\s*,\s*/y
const writes = /^(DELETE|INTO|UPDATE|LOCK|TRUNCATE)/
const prismaCall =
  /\.([a-z]\w*)\s*\.\s*(find(?:Unique|First|Many)(?:OrThrow)?|count|aggregate|groupBy|create(?:Many)?(?:AndReturn)?|update(?:Many)?(?:AndReturn)?|upsert|delete(?:Many)?)\s*\(/g
const prismaReads = /^(find|count|aggregate|groupBy)/
const field = /(\w+):\s*(?:\{|true\b)/g
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

/** The position after the bracket that closes the one at `start`. */
function closing(text: string, start: number, [open, close]: string): number {
  let depth = 0
  for (let at = start; at < text.length; at++) {
    if (text[at] === open) depth++
    else if (text[at] === close && --depth === 0) return at + 1
  }
  return text.length
}

/** The position after a match of the sticky expression, and its group; undefined if the text does not match there. */
function after(text: string, at: number, expression: RegExp): { at: number; group: string | undefined } | undefined {
  expression.lastIndex = at
  const match = expression.exec(text)
  return match ? { at: expression.lastIndex, group: match[1] } : undefined
}

/** Tables of the list that begins at `start`. Functions, subqueries and computed names are skipped; subqueries have their own clauses. */
function listedAt(text: string, start: number): string[] {
  const listed: string[] = []
  let at = start
  for (;;) {
    at = after(text, at, prefix)?.at ?? at
    const name = after(text, at, tableName)
    if (text.startsWith('(', at)) at = closing(text, at, '()')
    else if (text.startsWith('${', at)) at = closing(text, at, '{}')
    else if (name) {
      at = name.at
      if (text.startsWith('(', at)) at = closing(text, at, '()')
      else if (name.group !== undefined) listed.push(name.group)
    } else return listed
    at = after(text, at, alias)?.at ?? at
    if (text.startsWith('(', at)) at = closing(text, at, '()')
    const next = after(text, at, comma)
    if (!next) return listed
    at = next.at
  }
}

/**
 * Finds the tables and views that a source file names. SQL keywords are upper-case in this project, and names are lower-case, so that prose
 * is not mistaken for SQL. It cannot find a name that is computed from parts, nor a relation in an object that is passed to a Prisma call
 * from elsewhere.
 */
export function tableReferences(source: string, schema: SchemaTables): TableReference[] {
  const text = withoutComments(source)
  const found: TableReference[] = []
  const add = (table: string | undefined, isWrite: boolean, at: number) => {
    if (table !== undefined && schema.isTable(table))
      found.push({ table, isWrite, line: text.slice(0, at).split('\n').length })
  }
  for (const match of text.matchAll(clause)) {
    const [whole, keyword = ''] = match
    for (const table of listedAt(text, match.index + whole.length)) add(table, writes.test(keyword), match.index)
  }
  for (const match of text.matchAll(prismaCall)) {
    const [whole, delegate = '', method = ''] = match
    if (schema.tableOf(delegate) === undefined) continue
    const isWrite = !prismaReads.test(method)
    add(schema.tableOf(delegate), isWrite, match.index)
    const start = match.index + whole.length - 1
    for (const [, name = ''] of text.slice(start, closing(text, start, '()')).matchAll(field))
      add(schema.relationOf(delegate, name), false, match.index)
  }
  for (const pattern of composed) for (const match of text.matchAll(pattern)) add(match[1], false, match.index)
  if (computed.test(text)) for (const match of text.matchAll(wholeString)) add(match[2], false, match.index)
  return found
}
