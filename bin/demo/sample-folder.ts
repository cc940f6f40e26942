import { resolve } from 'node:path'

/** The optional folder with real units and skills: `traces.jsonl`, `skills/<name>/SKILL.md`. Beside the checkout, or KP_SAMPLE_DATA. */
export const sampleFolder = resolve(process.env.KP_SAMPLE_DATA ?? resolve(import.meta.dirname, '../../../shared/data'))
