import { isConstructed, isObject, type JsonObject, messageIn } from './messages.ts'
import { isGenerated, isTelling, placeholder, withoutId } from './needles.ts'
import { type Doomed, goes, isHolding, isPairThatGoes } from './survey.ts'

/** How one value of a thread is rewritten. */
export interface Rewriting {
  doomed: Doomed
  /** Channels and keys that hold lists: what is gone leaves an empty one there, which every reducer takes. */
  lists: ReadonlySet<string>
  /** Whether it was written when what goes was there already, so that a summary in it may have been made of it. */
  isLater: boolean
}
const gone = Symbol('gone')
/** Beginnings of words that say so wherever they stand in a name. */
const stems =
  /summar|recap(?!tcha)|digest|synopsis|zusammenfass|kurzfass|samenvatt|riassunt|résum|resumé|摘要|[总總][结結]|小[结結]|概[要述]|要約|요약/i
/** Those that are parts of other words (`registry`, `resume`), as words of their own. */
const words = /(?<!\p{L})(abstract|gist|outline|tl[;_-]?dr|res[uú]men|resumo)(e?s)?(?!\p{L})/iu
/** A name under which applications keep what they made of the messages. */
export function isDerived(name: string): boolean {
  const parted = name.normalize('NFC').replace(/(\p{Ll})(\p{Lu})/gu, '$1_$2')
  return stems.test(parted) || words.test(parted)
}
/** Of a derived object: what holds words. */
const fields = new Set(['text', 'content', 'body', 'value'])

function cut(text: string, { forms, ids }: Doomed): string {
  let rest = text
  for (const form of forms) rest = rest.replaceAll(form, placeholder)
  for (const id of ids) if (isTelling(id)) rest = withoutId(rest, id)
  return rest
}

/** Rewrites what a channel, an input or metadata holds, as it was parsed. The value itself is left as it is. */
export function rewriteValue(value: unknown, name: string, how: Rewriting): { value: unknown; isChanged: boolean } {
  const { doomed, lists } = how
  let isChanged = false
  const changed = <T>(made: T): T => {
    isChanged = true
    return made
  }
  const emptied = (key: string): unknown => (lists.has(key) ? [] : null)

  function string(text: string, isOfDerived: boolean): unknown {
    if (isOfDerived && how.isLater && text !== '') return changed('')
    if (isTelling(text) && doomed.ids.has(text)) return changed(gone)
    return isHolding(text, doomed) ? changed(cut(text, doomed)) : text
  }

  function list(items: readonly unknown[], key: string, isOfDerived: boolean): unknown {
    if (isPairThatGoes(items, doomed)) return changed(gone)
    const [first, second] = items
    // [channel, value]: an update of a Command.
    if (items.length === 2 && typeof first === 'string' && typeof second === 'object' && second !== null) {
      const made = walk(second, first, isOfDerived)
      return [string(first, false), made === gone ? emptied(first) : made].filter((item) => item !== gone)
    }
    return items.map((item) => walk(item, key, isOfDerived)).filter((item) => item !== gone)
  }

  /** lc 2: a Map's entries go whole, and bytes that hold the words are emptied. */
  function collection(record: JsonObject): unknown {
    const [content] = Array.isArray(record.args) ? record.args : []
    if (isConstructed(record, /^Map$/) && Array.isArray(content)) {
      const entries = content.flatMap((entry: unknown) => {
        if (!Array.isArray(entry)) return [entry]
        const [key, item] = [walk(entry[0], '', false), walk(entry[1], String(entry[0]), false)]
        return key === gone || item === gone ? [] : [[key, item]]
      })
      return { ...record, args: [entries] }
    }
    if (isConstructed(record, /^Uint8Array$/) && Array.isArray(content)) {
      const text = Buffer.from(content.map(Number)).toString('utf8')
      return isHolding(text, doomed) ? changed({ ...record, args: [[]] }) : record
    }
    return undefined
  }

  /** An id that a client chose may be the name of a field: then the name is cut, and what stands under it stays. */
  const isAboutIt = (key: string): boolean =>
    doomed.forms.some((form) => key.includes(form)) ||
    doomed.ids.values().some((id) => isGenerated(id) && key.includes(id))
  function freeKey(key: string, record: JsonObject): string {
    const plain = cut(key, doomed)
    let free = plain
    for (let n = 2; free in record; n++) free = `${plain} ${n}`
    return free
  }

  function object(record: JsonObject, isOfDerived: boolean): unknown {
    const facts = messageIn(record)
    if (facts && goes(facts, doomed)) return changed(gone)
    // The call of a tool that goes, where it stands by itself, as what is sent to the node of tools.
    if (typeof record.id === 'string' && doomed.calls.has(record.id) && 'args' in record) return changed(gone)
    const special = collection(record)
    if (special !== undefined) return special
    const made: [string, unknown][] = []
    for (const [key, item] of Object.entries(record)) {
      const isNamed = isHolding(key, doomed)
      if (isNamed && isAboutIt(key)) {
        isChanged = true
        continue
      }
      const isWords = !facts && (isDerived(key) || (isOfDerived && fields.has(key)))
      const result = walk(item, key, isWords)
      // What was sent to a node and is gone was not sent.
      if (result === gone && key === 'args' && typeof record.node === 'string') return changed(gone)
      made.push([isNamed ? changed(freeKey(key, record)) : key, result === gone ? emptied(key) : result])
    }
    return Object.fromEntries(made)
  }

  function walk(item: unknown, key: string, isOfDerived: boolean): unknown {
    if (typeof item === 'string') return string(item, isOfDerived)
    if (Array.isArray(item)) return list(item, key, isOfDerived)
    return isObject(item) ? object(item, isOfDerived) : item
  }

  const made = walk(value, name, isDerived(name))
  return isChanged ? { value: made === gone ? emptied(name) : made, isChanged } : { value, isChanged }
}
