import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.grimoire.readEntry)
export const PUT = route(app.grimoire.editEntry)
export const DELETE = route(app.grimoire.deleteEntry)
