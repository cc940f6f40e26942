import { app, route } from '#lib/app.ts'

export const GET = route(app.llmLog.read)
export const DELETE = route(app.llmLog.remove)
