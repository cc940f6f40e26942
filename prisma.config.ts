import { defineConfig } from 'prisma/config'

// `generate` asks for the native schema engine although it never runs it, and would download it. Any existing file will do.
// For `generate` alone: people who can download may still use `prisma migrate`.
if (process.argv.includes('generate')) process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= process.execPath

export default defineConfig({ schema: 'prisma/schema', migrations: { path: 'prisma/migrations' } })
