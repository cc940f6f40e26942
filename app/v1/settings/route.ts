import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.settings.read)
export const PATCH = route(app.settings.edit)
