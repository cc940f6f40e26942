// Writes the software bill of materials of package-lock.json (CycloneDX 1.5) to sbom.json, or to the file that is named.
import '../runtime.ts'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { npm } from './npm.ts'

const Component = z.looseObject({ 'bom-ref': z.string(), type: z.string(), name: z.string(), version: z.string() })
const Sbom = z.looseObject({
  bomFormat: z.literal('CycloneDX'),
  specVersion: z.string(),
  metadata: z.looseObject({ component: Component }),
  components: z.array(z.looseObject({ ...Component.shape, purl: z.string() })),
})
export type Sbom = z.infer<typeof Sbom>

/** @throws if npm prints anything but an SBOM, for example because node_modules and the lock file differ */
export async function sbom(folder: string): Promise<Sbom> {
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application', '--package-lock-only']
  const made = Sbom.parse(JSON.parse(await npm(args, folder)))
  // npm takes the name from the folder.
  const { name } = z.object({ name: z.string() }).parse(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')))
  made.metadata.component.name = name
  return made
}

if (import.meta.main) {
  const file = process.argv[2] ?? 'sbom.json'
  const made = await sbom(process.cwd())
  writeFileSync(file, `${JSON.stringify(made, null, 2)}\n`)
  console.log(`${file}: ${made.components.length} components`)
}
