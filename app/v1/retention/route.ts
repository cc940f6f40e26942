import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.retention.read)
export const PATCH = route(app.retention.edit)
export const DELETE = route(app.retention.reset)
