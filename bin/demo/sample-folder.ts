import { resolve } from 'node:path'

/** Where samples of real units and skills may lie: `traces.jsonl`, `skills/<name>/SKILL.md`. Beside the checkout, unless KP_SAMPLE_DATA says otherwise. */
export const sampleFolder = resolve(process.env.KP_SAMPLE_DATA ?? resolve(import.meta.dirname, '../../../shared/data'))
