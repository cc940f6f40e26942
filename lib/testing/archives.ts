import { createHash } from 'node:crypto'
import { TextWriter, Uint8ArrayReader, Uint8ArrayWriter, ZipReader } from '@zip.js/zip.js'

export interface Archive {
  manifest: ReturnType<typeof JSON.parse>
  /** The text of each file by name, without the manifest. */
  files: Record<string, string>
}

/** Opens an export archive. @throws when a file differs from the manifest in size or hash, or is missing */
export async function openArchive(bytes: Uint8Array): Promise<Archive> {
  const reader = new ZipReader(new Uint8ArrayReader(bytes))
  const entries = (await reader.getEntries()).filter((entry) => !entry.directory)
  const last = entries.at(-1)
  if (last?.filename !== 'manifest.json') throw new Error('an archive ends with its manifest')
  const manifest = JSON.parse(await last.getData(new TextWriter()))
  const files: Record<string, string> = {}
  for (const entry of entries.slice(0, -1)) {
    const content = await entry.getData(new Uint8ArrayWriter(), { checkSignature: true })
    const said = manifest.files[entry.filename]
    if (said?.bytes !== content.byteLength || said.sha256 !== createHash('sha256').update(content).digest('hex'))
      throw new Error(`${entry.filename} is not as the manifest says`)
    files[entry.filename] = Buffer.from(content).toString()
  }
  if (Object.keys(files).sort().join() !== Object.keys(manifest.files).sort().join())
    throw new Error('the manifest names other files than there are')
  return { manifest, files }
}
