import { referenceOf } from '#components/reference/document.ts'
import { app } from '#lib/app-instance.ts'
import { memoize } from '#lib/kernel/concurrency.ts'

/** The parsed document of this version. Parsing takes longer than rendering a page, so it happens once. */
export const apiReference = memoize(() => referenceOf(app.openApi()))
