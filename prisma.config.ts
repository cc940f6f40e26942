import { defineConfig } from 'prisma/config'

// `prisma generate` requires the native schema engine, and would download it, although it never runs it. Any existing file satisfies it.
// Set only for `generate`, so that `prisma migrate` still downloads the real engine.
if (process.argv.includes('generate')) process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= process.execPath

export default defineConfig({ schema: 'prisma/schema', migrations: { path: 'prisma/migrations' } })
