import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.llmLog.list)
export const POST = route(app.llmLog.add)
