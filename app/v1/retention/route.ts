import { app, route } from '#lib/app.ts'

export const GET = route(app.retention.read)
export const PATCH = route(app.retention.edit)
export const DELETE = route(app.retention.reset)
