import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { sbom } from './sbom.ts'

const root = join(import.meta.dirname, '../..')
const read = (file: string): ReturnType<typeof JSON.parse> => JSON.parse(readFileSync(join(root, file), 'utf8'))

it('sbom returns the installation and every package of the lock file with its version, address and hash', async () => {
  const { name, version, dependencies } = read('package.json')
  const made = await sbom(root)
  expect(made).toMatchObject({
    bomFormat: 'CycloneDX',
    specVersion: expect.stringMatching(/^1\.\d+$/),
    serialNumber: expect.stringMatching(/^urn:uuid:/),
    metadata: { component: { type: 'application', name, version, purl: `pkg:npm/${name}@${version}` } },
  })
  const byAddress = new Map(made.components.map((component) => [component.purl, component]))
  for (const [dependency, exact] of Object.entries(dependencies)) {
    const address = `pkg:npm/${dependency.replace('@', '%40')}@${exact}`
    expect(byAddress.get(address), address).toMatchObject({
      name: dependency,
      version: exact,
      hashes: [{ alg: 'SHA-512', content: expect.stringMatching(/^[0-9a-f]{128}$/) }],
    })
  }
  const refs = new Set([made.metadata.component['bom-ref'], ...made.components.map((one) => one['bom-ref'])])
  expect(refs.size).toBe(made.components.length + 1)
})
