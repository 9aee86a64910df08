// instance.h - a small stand-in
#pragma once
