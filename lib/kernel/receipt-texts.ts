/** The English text of a receipt line. */
interface ReceiptText {
  /** The form in use. `{count}`, `{hold}` and `{system}` are filled in. */
  text: string
  /** The form for a count of one, if it differs. */
  one?: string
  /** Forms on older receipts. When `text` changes, the former text moves here. */
  earlier?: readonly string[]
}

/**
 * The fixed texts of receipts by code. A receipt contains the English text, which is signed; readers see a translation of its code. Each
 * code has a message in every language (`receipt.retained`, `receipt.grounds`, `receipt.physicalTexts`, `receipt.unsearched`).
 */
export const receiptTexts = {
  retained: {
    held: {
      text: '{count} items under the legal hold {hold}; they are erased when it ends',
      earlier: ['{count} items that the legal hold {hold} covers; they are erased when it ends'],
    },
    heldUncounted: {
      text: 'items under the legal hold {hold}, whose number is not known; they are erased when it ends',
    },
    outside: {
      text: 'external data named by {count} pointers of applications: this installation cannot reach it, and the operator of that system must erase it',
      one: 'external data named by one pointer of applications: this installation cannot reach it, and the operator of that system must erase it',
      earlier: [
        'what {count} pointers of applications named elsewhere: it stands where this installation reaches nothing, and whoever runs that place has to erase it',
        'what one pointer of applications named elsewhere: it stands where this installation reaches nothing, and whoever runs that place has to erase it',
      ],
    },
    outsideIn: {
      text: 'external data in {system} named by {count} pointers of applications: this installation cannot reach it, and the operator of that system must erase it',
      one: 'external data in {system} named by one pointer of applications: this installation cannot reach it, and the operator of that system must erase it',
    },
    blockchain: {
      text: 'data on public blockchains named by {count} references of ours: it remains there, and we could never erase it',
      one: 'data on public blockchains named by one reference of ours: it remains there, and we could never erase it',
      earlier: [
        'what {count} notes of ours named on public blockchains: it stands there, and was never ours to erase',
        'what one note of ours named on public blockchains: it stands there, and was never ours to erase',
      ],
    },
    threads: {
      text: '{count} LangGraph threads that cannot be rewritten (encrypted, pickled or malformed) and may contain erased words',
      one: 'one LangGraph thread that cannot be rewritten (encrypted, pickled or malformed) and may contain erased words',
    },
    adminActs: { text: 'the erased id, as the admin who made changes' },
    address: {
      text: 'the email address for emails about this erasure, sealed; it is deleted with the last email, after the hold has ended',
      earlier: [
        'the e-mail address to which letters about this erasure go, sealed; it goes with the last letter, once the hold has ended',
      ],
    },
    lastEmail: {
      text: 'the last email about the erasure, with the email address, as a file in the email folder, for seven days after it is written',
      earlier: [
        'the last letter about the erasure, with the e-mail address, as a file in the mail folder, for seven days from when it is written',
      ],
    },
    emails: {
      text: 'emails about the erasure, with the email address, as files in the email folder, each for seven days after it is written',
      earlier: [
        'letters about the erasure, with the e-mail address, as files in the mail folder, each for seven days from when it is written',
      ],
    },
    request: { text: 'the privacy request and its timeline, without names: codes, times and counts' },
    sameTexts: {
      text: 'texts in records of others that equal an erased id but do not verifiably refer to the erased subject; an admin decides about each',
      earlier: [
        'texts equal to an id of the erased in records of others that do not verifiably mean them; an admin decides about each',
      ],
    },
    hashes: {
      text: 'keyed hashes of the ids and of the email address, so that imports cannot restore them',
      earlier: ['keyed hashes of the ids and of the e-mail address, so that no import brings them back'],
    },
    fingerprints: {
      text: 'keyed fingerprints of the erased words, sealed in the erasure ledger, so that a restored store can be searched for them; the words cannot be read from them',
    },
    sharedIds: {
      text: 'ids of data erased from stores that others write to, until these stores are searched again and nothing is found',
      earlier: [
        'ids of what was erased from stores that others write to, until these were searched once more and nothing was found',
      ],
    },
    audit: { text: 'audit entries: who acted, when and from which network address; ids and counts, no content' },
    proof: {
      text: 'deletion audit entry, this receipt and the erasure ledger: the id of the requester, ids and counts, no content',
      earlier: [
        'deletion audit entry, this receipt and the erasure ledger: the id of who asked, ids and counts, no content',
      ],
    },
    id: {
      text: 'the erased id, so that it cannot be used again',
      earlier: ['the erased id, so that it cannot come back'],
    },
  },
  grounds: {
    accountability: { text: 'accountability (GDPR art. 5(2)), legal obligation (art. 17(3)(b))' },
    proof: { text: 'proof of the erasure (GDPR art. 5(2), 17(3)(e))' },
    effectiveness: { text: 'effectiveness of the erasure (GDPR art. 17(1))' },
    hold: { text: 'legal obligation or legal claims (GDPR art. 17(3)(b), (e))' },
    answer: {
      text: 'informing the person about the outcome of their request (GDPR art. 12(3), (4), 19)',
      earlier: ['telling the person what became of their request (GDPR art. 12(3), (4), 19)'],
    },
    end: {
      text: 'informing the subject about the outcome of the erasure (GDPR art. 12(3), 12(4))',
      earlier: ['telling its subject how the erasure ends (GDPR art. 12(3), 12(4))'],
    },
    request: { text: 'proof that the request was answered (GDPR art. 5(2), 17(3)(e))' },
    others: {
      text: 'rights and freedoms of others (GDPR art. 15(4)): different people may use the same name',
      earlier: ['rights and freedoms of others (GDPR art. 15(4)): anybody may choose a name that somebody else has'],
    },
    decided: { text: 'decided by the requester, an owner of the project or an admin' },
    administration: { text: 'accountable administration (GDPR art. 6(1)(f))' },
    outside: { text: 'not stored by this installation', earlier: ['not held by this installation'] },
    public: { text: 'public ledger; nobody can erase it' },
  },
  physical: {
    rows: { text: 'dead rows in table files, unreadable through the database, until the next vacuum' },
    log: { text: 'write-ahead log, until it is recycled' },
    backups: {
      text: 'backups; after a restore, the operator repeats the erasure from the ledger',
      earlier: ['backups; after one is restored, the operator erases again from the ledger'],
    },
    backupsUnstated: {
      text: 'backups, for a period that the operator does not state; after a restore, the operator repeats the erasure from the ledger',
      earlier: [
        'backups, for a term that the operator does not state; after one is restored, the operator erases again from the ledger',
      ],
    },
    graph: { text: 'transaction logs of the graph database, until it prunes them' },
    cache: {
      text: 'the append-only file and snapshots of the cache, and deleted entries of its streams, until they are rewritten',
    },
    checkpoints: { text: 'dead rows and the write-ahead log of the checkpoints’ database' },
    objects: {
      text: 'copies of deleted objects that the provider of the object store retains',
      earlier: ['what the object store’s provider keeps of deleted objects for itself'],
    },
    softDeleted: {
      text: 'soft-deleted objects, which the owner of the object store can restore',
      earlier: ['objects in the object store’s soft deletion, which its owner could restore'],
    },
  },
  notSearched: {
    threads: { text: 'threads with encrypted or binary values, embeddings or unknown extensions' },
    otherProjects: {
      text: 'unchanged items of the long-term store with the erased words that belong, or may belong, to another project of the organization',
    },
    readOnlyItems: {
      text: 'unchanged items with the erased words in long-term stores that this installation may only read',
    },
    outsideItems: {
      text: 'items of the long-term store without an id of the project, outside the namespaces of its organization',
    },
    idsOfOthers: {
      text: 'unchanged cache entries, objects and items of the long-term store with an id of erased data that belong to others, or that the organization may not claim',
    },
    embeddings: { text: 'embeddings of names that remain in the knowledge graph' },
    cacheValues: {
      text: 'values of the cache that are encrypted, encoded, binary or compressed in a format other than gzip, deflate and zstd',
    },
    cacheOutside: {
      text: 'cache entries without an id of the project or conversation, and outside the keys that its organization may claim under KP_POINTER_PREFIXES: searched only for ids',
      earlier: [
        'cache entries without an id of the project or conversation, and outside the keys that its organisation may claim under KP_POINTER_PREFIXES: searched only for ids',
      ],
    },
    cacheLasting: {
      text: 'cache entries with an id of the project or conversation in their keys that have no expiry or may belong to others: searched only for ids and words, so a paraphrase may remain',
    },
    binaryObjects: { text: 'binary, encrypted or encoded objects (images, PDF files, archives)' },
    largeObjects: { text: 'objects of more than {count} MiB' },
    objectsOutside: {
      text: 'objects whose keys have no id of the project or conversation, outside the keys that its organization may claim under KP_POINTER_PREFIXES: only their keys are searched',
      earlier: [
        'objects whose keys have no id of the project or conversation, outside the keys that its organisation may claim under KP_POINTER_PREFIXES: only their keys are searched',
      ],
    },
    objectsArchived: { text: 'objects that must be restored from an archive of the provider before they can be read' },
    objectsRefused: { text: 'objects that the object store cannot decrypt without a key of somebody else' },
    objectsTags: { text: 'tags of objects that the object store does not return (s3:GetObjectTagging)' },
    objectsOddKeys: { text: 'objects with control characters in their keys' },
    objectsAmongOwn: {
      text: 'objects of applications below projects/, snapshots/ or knowledgepulse-, after the first {count} files of the registry',
    },
    objectsBeyond: { text: 'objects beyond the first million keys of the object store' },
    filesNoText: {
      text: 'deleted files without readable text (PDF, office files, images, recordings, archives): their words were not compared with other data',
    },
    filesUnread: {
      text: 'deleted text files whose words were not compared with other data, such as those of more than {count} MiB',
    },
    wordsUncompared: {
      text: 'words in data that belongs to nobody, if they were too many to compare with the texts of all other authors: they remain',
    },
    firstReceipt: {
      text: 'what the first receipt stated about retained data, remaining mentions and data that was not searched: after a restore, this receipt was signed again from the erasure ledger, which contains only the numbers of erased records',
    },
  },
} as const satisfies Record<string, Record<string, ReceiptText>>

export type ReceiptTextGroup = keyof typeof receiptTexts
export type ReceiptTextCode<Group extends ReceiptTextGroup> = keyof (typeof receiptTexts)[Group] & string

const filled = (text: string, values: Readonly<Record<string, string | number>>): string =>
  text.replace(/\{(\w+)\}/g, (blank, name: string) => String(values[name] ?? blank))

/** The text that a new receipt contains. */
export function receiptText<Group extends ReceiptTextGroup>(
  group: Group,
  code: ReceiptTextCode<Group>,
  values: { count?: number; hold?: string; system?: string } = {},
): string {
  const forms: Record<string, ReceiptText> = receiptTexts[group]
  const { text = '', one } = forms[code] ?? {}
  return filled(values.count === 1 && one !== undefined ? one : text, values)
}

const escaped = (text: string): string => text.replace(/[.*+?^$()|[\]\\]/g, '\\$&')
const patternOf = (form: string): RegExp =>
  new RegExp(
    `^${escaped(form).replace('{count}', '(?<count>\\d+)').replace('{hold}', '(?<hold>\\S+)').replace('{system}', '(?<system>\\S+)')}$`,
  )

export interface RecognizedReceiptText<Code extends string> {
  code: Code
  count: number
  hold: string
  system: string
}
/** Returns the code of a text on a receipt, with its values; undefined for an unknown text, which is shown as it is signed. */
export function recognizeReceiptText<Group extends ReceiptTextGroup>(
  group: Group,
  text: string,
): RecognizedReceiptText<ReceiptTextCode<Group>> | undefined {
  const forms: Record<string, ReceiptText> = receiptTexts[group]
  for (const code of codesOf(group)) {
    const { text: current = '', one, earlier = [] } = forms[code] ?? {}
    for (const form of [current, ...(one === undefined ? [] : [one]), ...earlier]) {
      const found = patternOf(form).exec(text)
      const { count = 1, hold = '', system = '' } = found?.groups ?? {}
      if (found) return { code, count: Number(count), hold, system }
    }
  }
  return undefined
}

const isCodeOf = <Group extends ReceiptTextGroup>(group: Group, code: string): code is ReceiptTextCode<Group> =>
  code in receiptTexts[group]
/** The codes of a group. */
export const codesOf = <Group extends ReceiptTextGroup>(group: Group): ReceiptTextCode<Group>[] =>
  Object.keys(receiptTexts[group]).filter((code) => isCodeOf(group, code))
