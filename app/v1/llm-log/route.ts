import { app, route } from '#lib/app.ts'

export const GET = route(app.llmLog.list)
export const POST = route(app.llmLog.add)
