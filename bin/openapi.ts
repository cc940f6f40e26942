import './runtime.ts'
import { readFileSync, writeFileSync } from 'node:fs'
import { app } from '#lib/app-instance.ts'

// The committed document shows API changes in a diff.
const text = `${JSON.stringify(app.openApi(), null, 2)}\n`
if (process.argv.includes('--check')) {
  if (readFileSync('openapi.json', 'utf8') !== text) {
    console.error('openapi.json differs from the operations. Run: npm run openapi')
    process.exitCode = 1
  }
} else writeFileSync('openapi.json', text)
await app.close()
