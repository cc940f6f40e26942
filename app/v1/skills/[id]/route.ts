import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.skills.read)
export const PATCH = route(app.skills.correct)
export const DELETE = route(app.skills.erase)
