import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.knowledge.read)
export const PATCH = route(app.knowledge.rectify)
export const DELETE = route(app.knowledge.erase)
