import { createHash, randomBytes } from 'node:crypto'
import { existsSync, lstatSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Skill } from '#lib/domains/knowledge/skills/contract.ts'
import { pathFault, pathFaults } from '#lib/domains/knowledge/skills/paths.ts'
import { errorCode } from '#lib/kernel/error-code.ts'
import { Failure } from './failure.ts'
import { skillFile } from './skill-source.ts'

export interface SkillText {
  path: string
  content: string
}

/** Whether a skill's name can be a folder name. */
export const isFolderName = (name: string): boolean => /^[a-z0-9-]{1,64}$/.test(name) && pathFault(name) === undefined

/** SKILL.md and its files from the registry. @throws Failure when they differ from their hashes */
export function skillFolderTextsOf({ skill_md, files }: Pick<Skill, 'skill_md' | 'files'>): SkillText[] {
  for (const { path, content, sha256 } of files)
    if (createHash('sha256').update(content).digest('hex') !== sha256)
      throw new Failure('not_whole', `The download of "${path}" differs from the registry’s file. Nothing was written.`)
  const [fault] = pathFaults(files.map(({ path }) => path))
  if (fault)
    throw new Failure(
      'unsafe_path',
      `A file of this skill cannot be written: "${files[fault.index]?.path ?? ''}" ${fault.message}. Nothing was written.`,
      { advice: 'You did nothing wrong. Contact the operator of the registry.' },
    )
  return [{ path: skillFile, content: skill_md }, ...files.map(({ path, content }) => ({ path, content }))]
}

const kindOf = (path: string): 'file' | 'folder' | 'other' | undefined => {
  try {
    const found = lstatSync(path)
    return found.isDirectory() ? 'folder' : found.isFile() ? 'file' : 'other'
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}

/** The folder, and the folders between it and the file, outermost first. */
const wayTo = (folder: string, path: string): string[] => {
  const parts = path.split('/').slice(0, -1)
  return [folder, ...parts.map((_, depth) => join(folder, ...parts.slice(0, depth + 1)))]
}

/** Checks for links, files in place of folders, and existing files. @throws Failure before anything is written */
function checkWay(folder: string, texts: readonly SkillText[], force: boolean): void {
  const refuse = (code: string, message: string, advice?: string): never => {
    throw new Failure(code, `${message} Nothing was written.`, advice === undefined ? {} : { advice })
  }
  const there: string[] = []
  for (const { path } of texts) {
    for (const step of wayTo(folder, path)) {
      const kind = kindOf(step)
      if (kind !== undefined && kind !== 'folder') refuse('in_the_way', `${step} already exists and is not a folder.`)
    }
    const kind = kindOf(join(folder, path))
    if (kind === 'folder' || kind === 'other')
      refuse('in_the_way', `${join(folder, path)} already exists and is not a file.`)
    if (kind === 'file') there.push(path)
  }
  if (there.length > 0 && !force)
    refuse(
      'exists',
      `${there[0]}${there.length > 1 ? ` and ${there.length - 1} more of its files already exist` : ' already exists'} in ${folder}.`,
      'Add --force to replace them.',
    )
}

/**
 * Writes a skill into its folder only. A new folder is written atomically; in an existing folder, each file is.
 * `former`: files of an earlier version, removed unless this version has them.
 */
export function writeSkill(
  folder: string,
  texts: readonly SkillText[],
  { force = false, former = [] }: { force?: boolean; former?: readonly string[] } = {},
): void {
  checkWay(folder, texts, force)
  mkdirSync(dirname(folder), { recursive: true })
  const unfinished = join(dirname(folder), `.kp-${randomBytes(6).toString('hex')}`)
  try {
    for (const { path, content } of texts) {
      mkdirSync(dirname(join(unfinished, path)), { recursive: true })
      writeFileSync(join(unfinished, path), content, { flag: 'wx', mode: 0o644, flush: true })
    }
    if (!existsSync(folder)) renameSync(unfinished, folder)
    else {
      for (const { path } of texts) {
        mkdirSync(dirname(join(folder, path)), { recursive: true })
        renameSync(join(unfinished, path), join(folder, path))
      }
      const kept = new Set(texts.map(({ path }) => path))
      removeFiles(
        folder,
        former.filter((path) => !kept.has(path)),
      )
    }
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
}

/** Removes files of a skill and folders that become empty. Keeps other files, and does not follow links. */
export function removeFiles(folder: string, paths: readonly string[]): void {
  const safe = paths.filter(
    (path) =>
      (path === skillFile || pathFault(path) === undefined) &&
      wayTo(folder, path).every((step) => kindOf(step) === 'folder'),
  )
  for (const path of safe) if (kindOf(join(folder, path)) !== 'folder') rmSync(join(folder, path), { force: true })
  const folders = [...new Set(safe.flatMap((path) => wayTo(folder, path)))].sort(
    (one, other) => other.length - one.length,
  )
  for (const step of folders) if (kindOf(step) === 'folder' && readdirSync(step).length === 0) rmdirSync(step)
}
