import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.clades.readShare)
export const DELETE = route(app.clades.recallShare)
