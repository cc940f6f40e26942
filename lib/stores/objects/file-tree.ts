import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { asFileProblem, isMissing } from './file-faults.ts'
import { parseFileName, pathOfKey } from './file-names.ts'
import { inKeyOrder } from './keys.ts'

interface Level {
  text: string
  path: string
  isFolder: boolean
}

/** The folder of a key's file and the beginning of its name. */
export const pathIn = (root: string, key: string) => {
  const { folders, name } = pathOfKey(key)
  return { folder: join(root, ...folders), name }
}

const entries = async (folder: string): Promise<string[]> => {
  try {
    return await readdir(folder)
  } catch (error) {
    if (isMissing(error)) return []
    throw asFileProblem(error)
  }
}

/** The file of a key, and its unfinished uploads. */
export async function filesOfKey(root: string, key: string): Promise<string[]> {
  const { folder, name } = pathIn(root, key)
  return (await entries(folder)).filter(
    (one) => one === `${name}.o` || (one.startsWith(`${name}.`) && parseFileName(one)?.kind === 'upload'),
  )
}

/** The contents of a folder in the order of the keys, with long segments joined again. */
async function level(folder: string, begun = ''): Promise<Level[]> {
  const found = new Map<string, Level>()
  for (const name of await entries(folder)) {
    const one = parseFileName(name)
    if (!one) continue
    const path = join(folder, name)
    if (one.kind === 'beginning') for (const more of await level(path, begun + one.text)) found.set(more.text, more)
    else {
      const isFolder = one.kind === 'folder'
      const text = begun + one.text + (isFolder ? '/' : '')
      found.set(text, { text, path, isFolder })
    }
  }
  return [...found.values()]
}

/** Keys with the prefix that follow `after`, in key order. `lead` is the part of the key that the folder stands for. */
export async function* keysIn(folder: string, lead: string, prefix: string, after: string): AsyncGenerator<string> {
  for (const one of (await level(folder)).sort((a, b) => inKeyOrder(a.text, b.text))) {
    const text = lead + one.text
    if (one.isFolder) {
      const mayHold = text.startsWith(prefix) || prefix.startsWith(text)
      if (mayHold && (after.startsWith(text) || inKeyOrder(text, after) > 0))
        yield* keysIn(one.path, text, prefix, after)
    } else if (text.startsWith(prefix) && inKeyOrder(text, after) > 0) yield text
  }
}
