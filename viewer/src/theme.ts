// Colors by role, in light and in dark: those of the reports. Blue is for, vermilion against.
import { useSyncExternalStore } from "react";

export type Scheme = "light" | "dark";

export interface Colors {
  paper: string;
  ink: string;
  muted: string;
  line: string;
  soft: string;
  pro: string;
  con: string;
  middle: string;
  accent: string;
  edge: string;
  across: string;
  series: string[];
}

const LIGHT: Colors = {
  paper: "#ffffff",
  ink: "#1b1f24",
  muted: "#59636e",
  line: "#d9dee5",
  soft: "#f3f5f8",
  pro: "#0b69a3",
  con: "#c2410c",
  middle: "#cdd3da",
  accent: "#0e7490",
  edge: "#aeb7c2",
  across: "#a21caf",
  series: ["#0e7490", "#a21caf", "#4d7c0f", "#b45309", "#4338ca", "#be123c"],
};

const DARK: Colors = {
  paper: "#171b20",
  ink: "#e7eaee",
  muted: "#a3adb8",
  line: "#343c46",
  soft: "#1f252c",
  pro: "#62b5ee",
  con: "#ff9566",
  middle: "#566170",
  accent: "#4fc3d9",
  edge: "#46515e",
  across: "#e07bea",
  series: ["#4fc3d9", "#e07bea", "#9fd356", "#f5b14c", "#9d97ff", "#ff7d95"],
};

const system = window.matchMedia("(prefers-color-scheme: dark)");
const KEY = "townsquare.scheme";

export function scheme(): Scheme {
  const chosen = document.documentElement.dataset["scheme"];
  if (chosen === "light" || chosen === "dark") return chosen;
  return system.matches ? "dark" : "light";
}

export function restoreScheme(): void {
  const chosen = localStorage.getItem(KEY);
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset["scheme"] = chosen;
}

export function toggleScheme(): void {
  const next = scheme() === "dark" ? "light" : "dark";
  document.documentElement.dataset["scheme"] = next;
  localStorage.setItem(KEY, next);
  window.dispatchEvent(new Event("townsquare:scheme"));
}

export function useScheme(): Scheme {
  return useSyncExternalStore((notice) => {
    system.addEventListener("change", notice);
    window.addEventListener("townsquare:scheme", notice);
    return () => {
      system.removeEventListener("change", notice);
      window.removeEventListener("townsquare:scheme", notice);
    };
  }, scheme);
}

export function colorsOf(of: Scheme): Colors {
  return of === "dark" ? DARK : LIGHT;
}

export function useColors(): Colors {
  return colorsOf(useScheme());
}

function channel(hex: string, at: number): number {
  return Number.parseInt(hex.slice(1 + 2 * at, 3 + 2 * at), 16);
}

export function mix(from: string, to: string, share: number): string {
  const part = [0, 1, 2].map((at) => {
    const value = channel(from, at) + (channel(to, at) - channel(from, at)) * share;
    return Math.round(value).toString(16).padStart(2, "0");
  });
  return `#${part.join("")}`;
}

export function stanceColor(stance: number, colors: Colors): string {
  const share = Math.min(1, Math.abs(stance)) ** 0.7;
  return mix(colors.middle, stance >= 0 ? colors.pro : colors.con, share);
}
