import { app, route } from '#lib/app.ts'

export const GET = route(app.settings.read)
export const PATCH = route(app.settings.edit)
