import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.grimoire.listEntries)
export const POST = route(app.grimoire.addEntry)
