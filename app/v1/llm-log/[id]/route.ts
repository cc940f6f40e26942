import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.llmLog.read)
export const DELETE = route(app.llmLog.remove)
